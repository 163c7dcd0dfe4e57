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

{{- define "sluice.config" -}}
{{- $fixed := dict
  "gateway" (dict "listen" "0.0.0.0:8080")
  "admin" (dict "listen" "0.0.0.0:9090")
  "rules" (dict "file" "rules.yaml") -}}
{{- toYaml (mustMergeOverwrite (deepCopy .Values.config) $fixed) -}}
{{- end -}}
