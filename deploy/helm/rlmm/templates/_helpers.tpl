{{- define "rlmm.name" -}}
{{- $name := .Release.Name }}
{{- if not (contains "rlmm" $name) }}
{{- $name = printf "%s-rlmm" $name }}
{{- end }}
{{- $name | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- /* The labels that select a component; never to be changed. Takes root and verb. */}}
{{- define "rlmm.selector" -}}
app.kubernetes.io/name: rlmm
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .verb }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- define "rlmm.labels" -}}
{{ include "rlmm.selector" . }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/part-of: rlmm
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "rlmm.image" -}}
{{- with .Values.image -}}
{{- if .digest }}{{ .repository }}@{{ .digest }}{{ else }}{{ .repository }}:{{ .tag }}{{ end }}
{{- end -}}
{{- end }}

{{- define "rlmm.properties" -}}
bootstrap.servers={{ .Values.kafka.bootstrapServers }}
security.protocol={{ .Values.kafka.securityProtocol }}
{{- if hasPrefix "SASL_" .Values.kafka.securityProtocol }}
sasl.mechanism={{ .Values.kafka.saslMechanism }}
sasl.jaas.config.file=/etc/rlmm/user/{{ .Values.kafka.user.jaasKey }}
{{- end }}
{{- if and (hasSuffix "SSL" .Values.kafka.securityProtocol) .Values.kafka.trust.secret }}
ssl.truststore.certificates.file=/etc/rlmm/trust/{{ .Values.kafka.trust.key }}
{{- end }}
{{- if and (eq "SSL" .Values.kafka.securityProtocol) .Values.kafka.user.secret }}
ssl.keystore.certificate.chain.file=/etc/rlmm/user/{{ .Values.kafka.user.certificateKey }}
ssl.keystore.key.file=/etc/rlmm/user/{{ .Values.kafka.user.privateKeyKey }}
{{- end }}
{{- range $key, $value := .Values.config }}
{{ $key }}={{ if kindIs "float64" $value }}{{ int64 $value }}{{ else }}{{ $value | toString | replace "\\" "\\\\" }}{{ end }}
{{- end }}
{{- end }}

{{- /* A component's workload: its StatefulSet, its Services and its budget. Takes root, verb, port, args and values. */}}
{{- define "rlmm.component" -}}
{{- $name := printf "%s-%s" (include "rlmm.name" .root) .verb -}}
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}-pods
  labels:
    {{- include "rlmm.labels" . | nindent 4 }}
    headless: "true"
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector:
    {{- include "rlmm.selector" . | nindent 4 }}
  ports:
    - {name: http, port: {{ .port }}, targetPort: http}
---
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ $name }}
  labels:
    {{- include "rlmm.labels" . | nindent 4 }}
spec:
  replicas: {{ .values.replicas }}
  serviceName: {{ $name }}-pods
  podManagementPolicy: Parallel
  selector:
    matchLabels:
      {{- include "rlmm.selector" . | nindent 6 }}
  # What is on the volumes can be made again from Kafka.
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete, whenScaled: Delete}
  template:
    metadata:
      labels:
        {{- include "rlmm.selector" . | nindent 8 }}
        {{- with .root.Values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        # Changed settings restart the pods; changed secrets are read without.
        checksum/config: {{ include "rlmm.properties" .root | sha256sum }}
        {{- with .root.Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: {{ include "rlmm.name" .root }}
      automountServiceAccountToken: false
      # Else Kubernetes adds variables that begin with RLMM_.
      enableServiceLinks: false
      terminationGracePeriodSeconds: {{ .root.Values.terminationGracePeriodSeconds }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        fsGroupChangePolicy: OnRootMismatch
        seccompProfile: {type: RuntimeDefault}
      {{- with .root.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- range . }}
        - name: {{ . }}
        {{- end }}
      {{- end }}
      containers:
        - name: {{ .verb }}
          image: {{ include "rlmm.image" .root }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          args:
            - {{ .verb }}
            - --config=/etc/rlmm/config/rlmm.properties
            - --data=/data
            - --http=:{{ .port }}
            {{- range .args }}
            - {{ . }}
            {{- end }}
          env:
            - name: POD_NAME
              valueFrom: {fieldRef: {fieldPath: metadata.name}}
          ports:
            - {name: http, containerPort: {{ .port }}}
          # Until it was ready once: state is built anew, and the cluster may be away.
          startupProbe:
            httpGet: {path: /startupz, port: http}
            periodSeconds: 5
            timeoutSeconds: 5
            failureThreshold: 360
          livenessProbe:
            httpGet: {path: /healthz, port: http}
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: {path: /readyz, port: http}
            periodSeconds: 5
            timeoutSeconds: 5
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: {drop: [ALL]}
          volumeMounts:
            - {name: data, mountPath: /data}
            # Whole folders: a single file that is mounted would never change.
            - {name: config, mountPath: /etc/rlmm/config, readOnly: true}
            {{- if .root.Values.kafka.trust.secret }}
            - {name: trust, mountPath: /etc/rlmm/trust, readOnly: true}
            {{- end }}
            {{- if .root.Values.kafka.user.secret }}
            - {name: user, mountPath: /etc/rlmm/user, readOnly: true}
            {{- end }}
      volumes:
        - name: config
          configMap: {name: {{ include "rlmm.name" .root }}}
        {{- with .root.Values.kafka.trust.secret }}
        - name: trust
          secret: {secretName: {{ . }}, defaultMode: 0440}
        {{- end }}
        {{- with .root.Values.kafka.user.secret }}
        - name: user
          secret: {secretName: {{ . }}, defaultMode: 0440}
        {{- end }}
      {{- with .values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.topologySpreadConstraints }}
      topologySpreadConstraints:
        {{- toYaml . | nindent 8 }}
      {{- end }}
  volumeClaimTemplates:
    - metadata:
        name: data
      spec:
        accessModes: [ReadWriteOnce]
        {{- with .values.persistence.storageClass }}
        storageClassName: {{ . }}
        {{- end }}
        resources: {requests: {storage: {{ .values.persistence.size }}}}
{{- if .values.podDisruptionBudget.enabled }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  labels:
    {{- include "rlmm.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "rlmm.selector" . | nindent 6 }}
{{- end }}
{{- end }}
