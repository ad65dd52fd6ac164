# shellcheck shell=bash
# Runs the senders and receivers of examples/clients against the server; check-clients reads this.
# Each receiver gets the events of what the sender of its language sent, and refuses what is not
# signed.

examples=examples/clients

api_call() {
  curl -sf "$SMS_URL/api/v1$1" -H "Authorization: Bearer $SMS_KEY" \
    -H 'Content-Type: application/json' -d "$2"
}

# wait_for FILE TEXT: at most 15 seconds.
wait_for() {
  for _ in $(seq 150); do
    if grep -q "$2" "$1"; then return 0; fi
    sleep 0.1
  done
  echo "no $2 in:"
  cat "$1"
  return 1
}

# is_listening PORT: at most 5 seconds.
is_listening() {
  for _ in $(seq 50); do
    if curl -s -o /dev/null "http://127.0.0.1:$1/"; then return 0; fi
    sleep 0.1
  done
  return 1
}

# break_off PORT: sends the beginning of a body, and leaves.
break_off() {
  exec 3<>"/dev/tcp/127.0.0.1/$1"
  printf 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{' >&3
  exec 3>&-
}

# run_example PROGRAM SENDER RECEIVER
run_example() {
  local port secret seen=$build/seen receiver_id status=1
  port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])')
  secret=$(api_call /webhooks \
    "{\"url\":\"http://127.0.0.1:$port/\",\"events\":[\"message.sent\",\"message.delivered\"]}" |
    sed -n 's/.*"secret":"\([^"]*\)".*/\1/p')
  SMS_WEBHOOK_SECRET=$secret "$1" "$3" "$port" >"$seen" 2>&1 &
  receiver_id=$!
  if is_listening "$port" && break_off "$port" &&
    SMS_API_URL=$SMS_URL SMS_API_KEY=$SMS_KEY "$1" "$2" '07700 900123' 'Your table is ready' &&
    wait_for "$seen" 'message.sent msg_' && wait_for "$seen" 'message.delivered msg_' &&
    [ "$(curl -s -o /dev/null -w '%{http_code}' -d '{}' -H 'webhook-signature: v1,AAAA' \
      "http://127.0.0.1:$port/")" = 400 ]; then
    status=0
  fi
  kill "$receiver_id"
  return "$status"
}

compiled=$(outcome tsc -p "$here/tsconfig.examples.json")
js=$build/examples
ran=$(outcome run_example node "$js/sender.js" "$js/receiver.js")
row "$examples, TypeScript" - "$compiled" "$ran"
checked=$(outcome strict "$examples/sender.py" && outcome strict "$examples/receiver.py")
case "$checked" in *NO*) checked=NO ;; *) checked=yes ;; esac
ran=$(outcome run_example python "$examples/sender.py" "$examples/receiver.py")
row "$examples, Python" - "$checked" "$ran"
