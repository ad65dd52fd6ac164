# The part of scripts/check-clients that needs Java: openapi-generator, whose jar comes with its
# package of PyPI. Sourced by that script.

generator_version=7.26.0
generator=$here/.venv/bin/openapi-generator-cli
if [ ! -x "$generator" ]; then
  "$here/.venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    "openapi-generator-cli==$generator_version"
fi
generator_row="openapi-generator $generator_version"

generate() {
  local language=$1 output=$2
  shift 2
  "$generator" generate -g "$language" -o "$build/$output" "$@"
}

# This generator makes functions of webhooks, which neither Python nor tsc can read. So it gets the
# renderings as OpenAPI 3.0, which leave them out.

# Python: mypy, and the scenario.
python_generated() {
  generate python "openapi-generator/python-$2" -i "${1%.json}-3.0.json" \
    --additional-properties="packageName=gen_$2,projectName=gen-$2"
}
made=$(outcome both python_generated)
"$here/.venv/bin/python" -m pip install --quiet --disable-pip-version-check \
  -r "$build/openapi-generator/python-api/requirements.txt" || true
export PYTHONPATH=$build/openapi-generator/python-api:$build/openapi-generator/python-operator
export MYPYPATH=$PYTHONPATH
# Its own code does not pass `--strict`.
compiled=$(outcome mypy --config-file= --cache-dir "$build/mypy-generator" -p gen_api -p gen_operator)
ran=$(outcome python "$here/scenario/openapi_generator.py")
row "$generator_row, python" "$made" "$compiled" "$ran"

# TypeScript: tsc with strict, and the scenario.
typescript_generated() {
  generate typescript-fetch "openapi-generator/typescript-$2" -i "${1%.json}-3.0.json" \
    --additional-properties=importFileExtension=.js
}
made=$(outcome both typescript_generated)
compiled=$(outcome tsc -p "$here/tsconfig.openapi-generator.json")
ran=$(outcome node "$build/js/scenario/openapi-generator.js")
row "$generator_row, typescript-fetch" "$made" "$compiled" "$ran"

# Go: a build. `enumClassPrefix` keeps the constants of two enums apart.
go_generated() {
  generate go "openapi-generator/go-$2" -i "${1%.json}-3.0.json" \
    --additional-properties=enumClassPrefix=true,packageName=sms
}
go_build() { (cd "$build/openapi-generator/go-api" && go mod tidy && go build ./...); }
made=$(outcome both go_generated)
if command -v go >/dev/null; then
  compiled=$(outcome go_build)
else
  compiled="no Go here"
fi
row "$generator_row, go" "$made" "$compiled" "not run"

# Java.
rendering() { generate java openapi-generator/java -i "${api%.json}-3.0.json"; }
row "$generator_row, java (from the 3.0 rendering)" "$(outcome rendering)" "not compiled" "not run"
