# Watches over one PostgreSQL server for the test process at the other end of its standard input: makes its folder,
# starts it when told, and once that process is gone, however it went, stops the server and removes the folder.
# Arguments: a folder for temporary files, the one with PostgreSQL's programs, and the path of PgBouncer, if there is one.

# What ends the test process, such as Ctrl-C, must not end this one before it has cleaned up.
trap '' HUP INT PIPE TERM
umask 077

name=private-postgres-XXXXXX
folder=$(mktemp -d "$1/$name") || folder=$(mktemp -d "/tmp/$name") || exit
cd "$folder" || exit
exec 2>>log
echo "$folder"

server=
poolers=
while read -r command argument; do
    case $command in
    initialize)
        echo "$argument" >password
        "$2/initdb" --pgdata=data --username=postgres --pwfile=password --encoding=UTF8 --locale=C --no-sync \
            </dev/null >>log
        echo $?
        ;;
    # The argument names the server to follow: its folder and port.
    follow)
        "$2/pg_basebackup" --pgdata=data --host="${argument% *}" --port="${argument##* }" --username=postgres \
            --write-recovery-conf --wal-method=stream --checkpoint=fast --no-sync </dev/null >>log
        echo $?
        ;;
    # The argument is its configuration file.
    pool)
        "$3" --quiet "$argument" </dev/null >>log 2>&1 &
        poolers="$poolers $!"
        echo "$!"
        ;;
    # The standard configuration would make it an authority, which strict clients do not accept as a server.
    certify)
        cat >certificate.conf <<'CONF'
[req]
distinguished_name = name
x509_extensions = extensions
prompt = no
[name]
CN = localhost
[extensions]
basicConstraints = critical, CA:FALSE
subjectAltName = DNS:localhost, IP:127.0.0.1
CONF
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -config certificate.conf \
            -keyout server.key -out server.crt </dev/null >>log
        echo $?
        ;;
    start)
        "$2/postgres" -D "$folder/data" -k "$folder" -p "$argument" </dev/null >>log 2>&1 &
        server=$!
        echo "$server"
        ;;
    # A new server does not start before the old one, even if killed, has been waited for.
    wait)
        wait "$server"
        echo $?
        server=
        ;;
    esac
done

for pooler in $poolers; do
    kill -KILL "$pooler"
    wait "$pooler"
done
if [ -n "$server" ]; then
    # The shell starts it with QUIT ignored, so that one which has not come far does not hear the first; and it may have
    # been halted in order to be killed.
    while kill -QUIT "$server" && kill -CONT "$server"; do sleep 0.1; done &
    wait "$server"
fi
# A killed server leaves a segment of shared memory behind, and its number on this line.
if [ -e data/postmaster.pid ]; then
    segment=$(sed -n '7s/.* //p' data/postmaster.pid)
    [ -z "$segment" ] || ipcrm --shmem-id "$segment"
fi
cd /
rm -rf "$folder"
