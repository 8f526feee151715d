# shellcheck shell=sh
# shellcheck disable=SC2154,SC2034 # steps set `lib`, and eval sets what it is told to
# What the post-install steps share. A step sets `step` and sources this; your own may do so, too.
set -eu
umask 077

: "${KUBECTL:=kubectl}"
: "${HELM:=helm}"
# For workloads to become ready, and for a chart to be fetched.
: "${WAIT_SECONDS:=600}"
: "${CHART_SECONDS:=120}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 143' TERM
trap 'exit 130' INT
trap 'exit 129' HUP

say() { printf '%s\n' "$*"; }

die() {
  printf '%s: %s\n' "${step:-step}" "$*" >&2
  exit 1
}

# Takes a variable's default from defaults.env, unless it is set.
defaults() {
  while IFS='=' read -r name value; do
    case $name in '' | '#'*) continue ;; esac
    eval "[ -n \"\${$name:-}\" ]" || eval "$name=\$value"
  done <"$lib/defaults.env"
}

# limit SECONDS COMMAND…: ends it when it takes longer. In our own process group, unlike timeout(1): who ends us, ends it.
limit() {
  seconds=$1
  shift
  "$@" &
  limited=$!
  (
    trap 'kill "$sleeper" 2>/dev/null; exit 0' TERM
    sleep "$seconds" &
    sleeper=$!
    wait "$sleeper"
    kill -TERM "$limited"
  ) >/dev/null 2>&1 &
  watchdog=$!
  ended=0
  wait "$limited" || ended=$?
  kill -TERM "$watchdog" 2>/dev/null || :
  return "$ended"
}

need() {
  command -v "$1" >/dev/null 2>&1 && return 0
  die "the program $2 is not there ($1). Install it (https://kubernetes.io/docs/tasks/tools, https://helm.sh/docs/intro/install), or say where it is with $3=PATH"
}

kube() { "$KUBECTL" "$@" </dev/null; }

# Before anything is changed: the API answers, and it is that of the cluster that is meant.
preflight() {
  need "$KUBECTL" kubectl KUBECTL
  [ -n "${KUBECONFIG:-}" ] || die 'KUBECONFIG is not set: railhead kubeconfig CLUSTER > file, then KUBECONFIG=file'
  uid=$(kube --request-timeout=30s get namespace kube-system -o 'jsonpath={.metadata.uid}') ||
    die 'the Kubernetes API does not answer, or refuses this kubeconfig'
  if [ -n "${RAILHEAD_CLUSTER_UID:-}" ]; then
    [ "$uid" = "$RAILHEAD_CLUSTER_UID" ] ||
      die "this kubeconfig is for another cluster: its id is $uid, not $RAILHEAD_CLUSTER_UID"
  elif [ -n "${RAILHEAD_CLUSTER:-}" ]; then
    # What kubeadm has called it, if kubeadm has made it.
    called=$(kube --request-timeout=30s -n kube-system get configmap kubeadm-config --ignore-not-found \
      -o 'jsonpath={.data.ClusterConfiguration}' | sed -n 's/^clusterName: *//p') || called=
    [ -z "$called" ] || [ "$called" = "$RAILHEAD_CLUSTER" ] ||
      die "this kubeconfig is for another cluster: it is called $called, not $RAILHEAD_CLUSTER"
  fi
}

# fetch_chart PREFIX: sets `chart_file`. All of it is here before the cluster is touched.
fetch_chart() {
  eval "chart_path=\${$1_PATH:-} chart_repository=\$$1_REPOSITORY chart_name=\$$1_CHART chart_version=\$$1_VERSION"
  if [ -n "$chart_path" ]; then
    [ -e "$chart_path" ] || die "there is no chart at $chart_path"
    say "chart $chart_name from $chart_path"
    chart_file=$chart_path
    return
  fi
  say "fetching chart $chart_name $chart_version from $chart_repository"
  mkdir "$work/$1"
  case $chart_repository in
    oci://*) set -- "$1" "$chart_repository/$chart_name" ;;
    *) set -- "$1" "$chart_name" --repo "$chart_repository" ;;
  esac
  chart_folder=$work/$1
  shift
  limit "$CHART_SECONDS" "$HELM" pull "$@" --version "$chart_version" --destination "$chart_folder" || {
    [ "$?" -ne 143 ] || die "$chart_repository gave no chart within $CHART_SECONDS s"
    die "$chart_repository gave no chart $chart_name $chart_version"
  }
  chart_file=$(find "$chart_folder" -name '*.tgz')
  [ -n "$chart_file" ] || die "$chart_repository gave no chart $chart_name $chart_version"
}

# install_release PREFIX RELEASE: values are those of $work/RELEASE.yaml, and over them those of PREFIX_VALUES.
install_release() {
  need "$HELM" helm HELM
  eval "release_namespace=\$$1_NAMESPACE release_values=\${$1_VALUES:-}"
  release=$2
  fetch_chart "$1"
  # A helm that was killed leaves its lock behind. Only who knows that nobody else is at it may break it.
  if [ "${RAILHEAD_RESUMED:-}" = 1 ] || [ "${TAKE_OVER:-}" = 1 ]; then
    kube -n "$release_namespace" delete secret --ignore-not-found \
      -l "owner=helm,name=$release,status in (pending-install,pending-upgrade,pending-rollback)"
  fi
  set -- --namespace "$release_namespace" --create-namespace --history-max 5 --timeout "${WAIT_SECONDS}s"
  [ ! -s "$work/$release.yaml" ] || set -- "$@" --values "$work/$release.yaml"
  [ -z "$release_values" ] || set -- "$@" --values "$release_values"
  say "installing $release into $release_namespace"
  "$HELM" upgrade --install "$release" "$chart_file" "$@" </dev/null
}

# wait_workloads: until everything that the release of install_release runs is rolled out.
wait_workloads() {
  "$HELM" get manifest "$release" --namespace "$release_namespace" >"$work/manifest.yaml"
  kube -n "$release_namespace" get -f "$work/manifest.yaml" --no-headers \
    -o 'custom-columns=KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name' >"$work/objects"
  while read -r kind namespace name; do
    case $kind in
      Deployment | DaemonSet | StatefulSet) wait_rollout "$namespace" "$kind/$name" ;;
    esac
  done <"$work/objects"
}

wait_rollout() {
  say "waiting for $2 in $1"
  kube -n "$1" rollout status "$2" --timeout="${WAIT_SECONDS}s"
}

# until_true SECONDS WHAT COMMAND…: asks again every other second.
until_true() {
  left=$1
  what=$2
  shift 2
  until "$@" >"$work/asked" 2>&1; do
    left=$((left - 2))
    if [ "$left" -le 0 ]; then
      cat "$work/asked" >&2
      die "waited in vain: $what"
    fi
    sleep 2
  done
}
