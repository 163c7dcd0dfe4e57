{{- /* Names and labels that every template shares. */ -}}
{{- define "sluice.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "sluice.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "sluice.adminSecret" -}}
{{- .Values.admin.existingSecret | default (printf "%s-admin" (include "sluice.name" .)) -}}
{{- end -}}

{{- /* The fewest pods that there are. */ -}}
{{- define "sluice.podsMin" -}}
{{- if .Values.autoscaling.enabled -}}
{{- .Values.autoscaling.minReplicas -}}
{{- else -}}
{{- .Values.replicaCount -}}
{{- end -}}
{{- end -}}

{{- define "sluice.config" -}}
{{- $fixed := dict
  "admin" (dict "listen" "0.0.0.0:9090")
  "rules" (dict "file" "rules.yaml") -}}
{{- if .Values.gateway.enabled -}}
{{- $_ := set $fixed "gateway" (dict "listen" "0.0.0.0:8080") -}}
{{- end -}}
{{- if .Values.decision.enabled -}}
{{- $_ := set $fixed "decision" (dict "listen" "0.0.0.0:8082") -}}
{{- end -}}
{{- if .Values.envoy.enabled -}}
{{- if not .Values.envoy.files -}}
{{- fail "envoy.files is needed with envoy.enabled" -}}
{{- end -}}
{{- $files := list -}}
{{- range $name, $_ := .Values.envoy.files -}}
{{- $files = append $files (printf "/etc/sluice-envoy/%s" $name) -}}
{{- end -}}
{{- $envoy := dict "listen" "0.0.0.0:8081" "files" $files -}}
{{- if .Values.envoy.http -}}
{{- $_ := set $envoy "http" "0.0.0.0:8083" -}}
{{- end -}}
{{- $_ := set $fixed "envoy" $envoy -}}
{{- end -}}
{{- toYaml (mustMergeOverwrite (deepCopy .Values.config) $fixed) -}}
{{- end -}}
