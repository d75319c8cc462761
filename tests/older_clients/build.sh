#!/usr/bin/env bash
# Builds the program that reproduces clients of the original AgentHub, with stubs generated from `proto/`: `build.sh FILE`. Needs Go and buf.
set -euo pipefail
cd "$(dirname "$0")"
out=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp main.go go.mod "$work"
GOBIN=$work/bin go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
GOBIN=$work/bin go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.0
PATH=$work/bin:$PATH buf generate ../.. --template buf.gen.yaml --output "$work"
cd "$work"
go mod tidy
go build -o "$out" .
