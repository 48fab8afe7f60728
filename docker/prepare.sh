#!/bin/sh
# Runs once before the rest: the configuration of all parts from the fleet file, and the robots' secrets where only
# this user can read them. Without secrets of your own, alerts go to a stand-in for DingTalk.
set -eu
umask 077
for name in webhook secret; do
    given=/run/secrets/dingtalk-oncall-$name
    if [ -s "$given" ]; then
        cp "$given" "/run/tritonobs/dingtalk-oncall-$name"
    fi
done
[ -s /run/tritonobs/dingtalk-oncall-webhook ] ||
    echo 'http://127.0.0.1:9911/robot/send?access_token=practice' > /run/tritonobs/dingtalk-oncall-webhook
[ -s /run/tritonobs/dingtalk-oncall-secret ] ||
    echo 'SECpractice0000000000000000000000000000000000' > /run/tritonobs/dingtalk-oncall-secret
umask 022
tritonobs build /etc/tritonobs/fleet.yaml -o /built
cp -r /built/grafana/. /provisioning/
# The first time no server answers yet. When `up` is repeated, running servers load what was written.
for part in prometheus:9090 alertmanager:9093; do
    python3 -c "import sys, urllib.request as u; u.urlopen(u.Request(sys.argv[1], method='POST'), timeout=5)" \
        "http://$part/-/reload" 2> /dev/null || true
done
