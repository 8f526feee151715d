#!/bin/sh
# by-hand.sh STEP: runs a step with KUBECONFIG, or with a kubeconfig that the running appliance makes for CLUSTER.
set -eu
umask 077
scripts=$(cd "$(dirname "$0")/.." && pwd)

if [ -n "${KUBECONFIG:-}" ]; then
  [ -z "${CLUSTER:-}" ] || export RAILHEAD_CLUSTER="$CLUSTER"
  export KUBECONFIG
  exec "$scripts/$1"
fi
if [ -z "${CLUSTER:-}" ]; then
  echo "Which cluster? make $1 CLUSTER=NAME, or make $1 KUBECONFIG=FILE" >&2
  exit 2
fi

kubeconfig=$(mktemp)
trap 'rm -f "$kubeconfig"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
node "$scripts/../railhead.mjs" kubeconfig "$CLUSTER" >"$kubeconfig"
KUBECONFIG=$kubeconfig RAILHEAD_CLUSTER=$CLUSTER "$scripts/$1"
