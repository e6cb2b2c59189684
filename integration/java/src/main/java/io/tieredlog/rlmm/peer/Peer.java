package io.tieredlog.rlmm.peer;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

import net.sourceforge.argparse4j.ArgumentParsers;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.ArgumentParserException;
import net.sourceforge.argparse4j.inf.Namespace;
import net.sourceforge.argparse4j.inf.Subparser;
import net.sourceforge.argparse4j.inf.Subparsers;

/** The command line: one verb a run. */
public final class Peer {
    private Peer() {
    }

    public static void main(String[] args) throws Exception {
        ArgumentParser parser = parser();
        try {
            run(parser.parseArgs(args));
        } catch (ArgumentParserException e) {
            parser.handleError(e);
            System.exit(2);
        }
    }

    private static void run(Namespace options) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        switch (options.getString("verb")) {
            case "state" -> new StateVerb(settings(options)).run(out);
            case "apply" -> new ApplyVerb(settings(options)).run(in, out);
            case "measure" -> new MeasureVerb(settings(options)).run(in, out);
            case "serde" -> new SerdeVerb().run(in, out);
            default -> throw new IllegalStateException("no such verb");
        }
    }

    private static PeerManager.Settings settings(Namespace options) {
        return new PeerManager.Settings(
            options.getString("bootstrap"),
            options.getInt("partitions"),
            Duration.ofMillis(options.getLong("consume_wait_ms")),
            Duration.ofMillis(options.getLong("ready_wait_ms")));
    }

    private static ArgumentParser parser() {
        ArgumentParser parser = ArgumentParsers.newArgumentParser("peer")
            .description("Kafka's own remote log metadata manager, driven by JSON lines.");
        Subparsers verbs = parser.addSubparsers().dest("verb");
        managerVerb(verbs, "state", "replay the metadata topic and print the answers for every partition on it");
        managerVerb(verbs, "apply", "carry out the operations on standard input, one outcome a line");
        managerVerb(verbs, "measure", "measure what each line on standard input asks for, one answer a line");
        verbs.addParser("serde").help("decode the hex values on standard input");
        return parser;
    }

    private static void managerVerb(Subparsers verbs, String name, String help) {
        Subparser verb = verbs.addParser(name).help(help);
        verb.addArgument("bootstrap").help("host:port of the brokers");
        verb.addArgument("--partitions").type(Integer.class).setDefault(50)
            .help("partitions of the metadata topic if it has to be created");
        verb.addArgument("--consume-wait-ms").type(Long.class).setDefault(120_000L)
            .help("how long a mutation waits to be consumed again");
        verb.addArgument("--ready-wait-ms").type(Long.class).setDefault(60_000L)
            .help("how long to wait for the replay of the topic");
    }
}
