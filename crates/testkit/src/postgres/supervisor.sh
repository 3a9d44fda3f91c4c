# Keeps one throw-away cluster for the process that holds the other end of standard input.
#
#   sh supervisor.sh <PostgreSQL's programs> <where the directory is made>
#
# First line out: the directory. Then each line in is a command; its output is followed by "= <status>".
# When the other end of standard input closes, however its process came to its end, the server is stopped
# and the directory removed.
set -u
umask 077
programs=$1
# Only the end of the input ends this; a test process that is gone must not end it while it writes.
trap '' HUP INT TERM PIPE
directory=$(mktemp -d "$2/parlance-pg.XXXXXX") || exit 1
data=$directory/data
log=$directory/log
exec 2>"$log"

control() {
    "$programs/pg_ctl" "$@" -D "$data" -s </dev/null >>"$log" 2>&1
}

running() {
    [ -s "$data/postmaster.pid" ] && read -r process <"$data/postmaster.pid" && kill -0 "$process"
}

stop() {
    if running; then control stop -m immediate -w -t 30; fi
}

obey() {
    case $1 in
        create)
            # As in most databases, other letters than those of ASCII have a case too.
            if locale -a 2>/dev/null | grep -qixE 'c\.utf-?8'; then locale=C.UTF-8; else locale=C; fi
            "$programs/initdb" -D "$data" -U postgres -A trust -E UTF8 --locale="$locale" --no-sync \
                </dev/null >>"$log" 2>&1 ;;
        write) printf '%s\n' "$3" >>"$data/$2" ;;
        empty) : >"$data/$2" ;;
        start) running || control start -l "$log" -w -t 60 ;;
        stop) stop ;;
        log) tail -n 30 "$log" ;;
        *) false ;;
    esac
}

echo "$directory"
while read -r verb file text; do
    obey "$verb" "$file" "$text"
    echo "= $?"
done

# A killed server leaves shared memory behind, so that is the last resort.
for _ in 1 2 3; do stop && break; done
if running; then kill -9 "$process"; fi
# A process of the server that is just ending may still write.
for _ in 1 2 3 4 5; do
    rm -rf "$directory" && break
    sleep 1
done
