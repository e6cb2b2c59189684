// Package kafkatest gives tests a real Apache Kafka broker without containers, and
// Kafka's own remote log metadata manager (KIP-405) to compare with.
//
// A broker is a KRaft broker and controller in one Java process on free loopback
// ports, from the jars of Maven Central. [Start] starts one for a test; [Bootstrap]
// gives the brokers that a whole test package shares: those named by the
// environment variable KAFKA_BOOTSTRAP_SERVERS, else one that it starts. The
// first use on a machine downloads some 60 MB. JDK 17 (JAVA_HOME or PATH) and
// Maven (PATH) are needed; without them tests fail, they are never skipped.
//
// The environment variable KAFKA_VERSION chooses the version of the brokers that are
// started; the default is the one in integration/java/pom.xml.
//
// On Linux the kernel kills brokers and peers as soon as the test binary is gone,
// however it ended; elsewhere a SIGKILL of the test binary leaves them running. A
// killed test binary also leaves its data in the temporary folder.
//
// [PeerState], [PeerApply] and [PeerDecode] run Kafka's own manager and serde through
// the Java program in integration/java. [Recordings] are metadata topics of real
// brokers, with the answers of Kafka's manager to them.
package kafkatest
