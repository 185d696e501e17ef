package io.jrun.launcher.cli;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Every refusal is one line that says what to do. */
class UsageErrorTest {
    @TempDir
    private Path folder;

    private Requests requests;

    @BeforeEach
    void makeFiles() throws IOException {
        requests = new Requests(folder);
        requests.jar("library.jar", Map.of());
        Files.writeString(folder.resolve("train.py"), "print()");
        jdk("jdk17", "17.0.13");
        jdk("jdk8", "1.8.0_432");
    }

    private void jdk(String name, String version) throws IOException {
        Path home = folder.resolve(name);
        Path java =
                Files.writeString(Files.createDirectories(home.resolve("bin")).resolve("java"), "");
        Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.writeString(
                home.resolve("release"),
                "IMPLEMENTOR=\"x\"\nJAVA_VERSION=\"" + version + "\"\nMODULES=\"java.base\"\n");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        --nproc-per-ndoe=2 train.jar     | unknown option '--nproc-per-ndoe'; did you mean '--nproc-per-node'?
        --nproc_per_ndoe=2 train.jar     | unknown option '--nproc_per_ndoe'; did you mean '--nproc-per-node'?
        --zzzzzzzzzz train.jar           | unknown option '--zzzzzzzzzz'; 'jrun --help' lists the options.
        -z train.jar                     | unknown option '-z'; 'jrun --help' lists the options.
        --nproc train.jar                | --nproc-per-node: 'train.jar' is not usable; give auto, cpu, gpu, or a number of workers from 1 to 4096.
        --no-p train.jar                 | unknown option '--no-p'; 'jrun --help' lists the options.
        --r=3 train.jar                  | unknown option '--r'; 'jrun --help' lists the options.
        -m --no-python app               | --module and --no-python exclude each other: one runs PROGRAM with Python, one without. Leave one of them out.
        --run-path train.jar             | --run-path is for Python programs, but 'train.jar' is a jar. Leave it out.
        --report=none/a.html train.jar   | --report: cannot write none/a.html: the folder FOLDER/none does not exist.
        --run-path no.py                 | no.py: no such file.
        --no-python train.py             | train.py: not executable; run it with 'python3 train.py'.
        --logs-specs=mine train.jar      | --logs-specs: 'mine' is Python code, which jrun does not run; leave it out: files go to --log-dir.
        --event-log-handler=console train.jar | --event-log-handler: 'console' is Python code, which jrun does not run; leave it out: --json prints the result, and docs/job-events.md names the events.
        --numa-binding=socket train.jar  | --numa-binding: 'socket' is not usable; give node (--bind-to=gpu) or exclusive (--bind-to=core); jrun has no other binding.
        --nporc-per-node=2 train.jar     | unknown option '--nporc-per-node'; did you mean '--nproc-per-node'?
        --shard=1 train.jar              | unknown option '--shard'; 'jrun --help' lists the options.
        -help                            | unknown option '-help'; did you mean '--help'?
        --timeot=9 no-such.jar           | unknown option '--timeot'; did you mean '--timeout'?
        --timeout=x no-such.jar          | --timeout: 'x' is not usable; give seconds, or a number with ms, s, m or h: 90, 90s, 10m, 2h, 1:30:00, 2-12.
        --redirects=9 no-such.jar        | --redirects: '9' is not usable; give 0, 1, 2 or 3, or such numbers by local rank: 0:3,11:1. The nodes of an allocation are chosen with --include.
        --env=A no-such.jar              | --env=A: jrun's environment has no variable A; give --env=A=VALUE.
        --hosts --help                   | --hosts needs a value, but '--help' follows: --hosts=HOSTS.
        --timeout                        | --timeout needs a value: --timeout=TIME.
        --timeout --json train.jar       | --timeout needs a value, but '--json' follows: --timeout=TIME.
        --nproc-per-node=0 train.jar     | --nproc-per-node: '0' is not usable; give auto, cpu, gpu, or a number of workers from 1 to 4096.
        --nproc-per-node=-2 train.jar    | --nproc-per-node: '-2' is not usable; give auto, cpu, gpu, or a number of workers from 1 to 4096.
        --nproc-per-node=two train.jar   | --nproc-per-node: 'two' is not usable; give auto, cpu, gpu, or a number of workers from 1 to 4096.
        --nnodes=2 train.jar             | --nnodes: '2' nodes, but no hosts are named; give --hosts or --hostfile, or on every node --rdzv-endpoint=HOST:PORT.
        --nnodes=3:2 --rdzv-endpoint=a train.jar | --nnodes: '3:2' is not usable; give a number of nodes, or MIN:MAX.
        --nnodes=2 --rdzv-endpoint=a:0 train.jar | --rdzv-endpoint: 'a:0' is not usable; give a host and a port other than 0, the same on all nodes.
        --nnodes=2 --rdzv-endpoint=a --node-rank=2 train.jar | --node-rank: '2' is not usable; give a whole number from 0 to 1.
        --nnodes=2 --rdzv-endpoint=me@a:29400 train.jar | --rdzv-endpoint: 'me@a:29400' is not usable; give 'a:29400' without a user, because jrun does not log in there.
        --nnodes=2 --rdzv-endpoint=me@[::1]:29400 train.jar | --rdzv-endpoint: 'me@[::1]:29400' is not usable; give '[::1]:29400' without a user, because jrun does not log in there.
        --nnodes=2 --master-addr=me@a train.jar | --master-addr: 'me@a' is not usable; give 'a' without a user, because jrun does not log in there.
        --rdzv-backend=etcd train.jar    | --rdzv-backend: 'etcd' is not usable; give c10d, static or jrun.
        --nnodes=2 --rdzv-endpoint=a --standalone train.jar | --standalone means this machine alone, but --nnodes is 2.
        --launch=slurm train.jar         | --launch slurm needs a Slurm allocation (a batch script or salloc); 'jrun submit' submits a job.
        --launch=slurm --hosts=h1 train.jar | --launch slurm means the allocation's nodes, but --hosts names hosts. --include chooses among the nodes.
        --include=h1 train.jar           | --include chooses among the hosts of --hosts, --hostfile or a Slurm allocation, and there are none here; for this machine's GPUs set CUDA_VISIBLE_DEVICES.
        --hosts=h1 --include=h1 --exclude=h1 train.jar | --include and --exclude cannot both choose the hosts; give one of them.
        --hosts=h[1-9] --include=h11 train.jar | --include: 'h11' is not among the job's hosts, h1,h2,h3,h4,h5,h6,h7,h8 and 1 more.
        --hosts=h1:8,h2:4 --nproc-per-node=1 train.jar | --nproc-per-node counts for hosts without a number, but each host has its own number of workers. Leave it out.
        --hosts=h1:8 --nproc-per-node=gpu train.jar | --nproc-per-node counts for hosts without a number, but each host has its own number of workers. Leave it out.
        --map-by=socket train.jar        | --map-by: 'socket' is not usable; give node, slot, or ppr:N with a number of workers from 1 to 4096.
        --map-by=ppr:0 train.jar         | --map-by: 'ppr:0' is not usable; give node, slot, or ppr:N with a number of workers from 1 to 4096.
        --map-by=ppr:2 --nproc-per-node=4 train.jar | --map-by and --nproc-per-node name different numbers of workers on each node; give one of them.
        --hosts=h1:2 --map-by=ppr:4 train.jar | --map-by: 4 workers on h1 are more than its 2 slots; give a smaller number, or more slots.
        --bind-to=socket train.jar       | --bind-to: 'socket' is not usable; give core, numa, gpu or none.
        --max-restarts=-1 train.jar      | --max-restarts: '-1' is not usable; give a whole number, at least 0.
        --timeout=0 train.jar            | --timeout: '0' is not usable; give more than 0.
        --timeout=10d train.jar          | --timeout: '10d' is not usable; give seconds, or a number with ms, s, m or h: 90, 90s, 10m, 2h, 1:30:00, 2-12.
        --run-id= train.jar              | --run-id: '' is not usable; give up to 64 letters, digits, dots, dashes and underscores, a letter or digit first.
        --launch=rsh --launch=ssh train.jar | --launch: 'rsh' is not usable; give auto, local, hosts, ssh or slurm.
        --max-restarts=x --max-restarts=1 train.jar | --max-restarts: 'x' is not usable; give a whole number, at least 0.
        --hosts=a,a:2 --hosts=b train.jar | --hosts: host 'a' is named twice, with a number of workers and without one; write the number each time, or once in all.
        --include=[ --include=a --hosts=a train.jar | --include: '[': the brackets do not match.
        --run-id=a/b train.jar           | --run-id: 'a/b' is not usable; give up to 64 letters, digits, dots, dashes and underscores, a letter or digit first.
        --backend=mvapich train.jar      | --backend: 'mvapich' is not usable; give jrun, jrun-only, gloo or nccl.
        --backend=mpi train.jar          | --backend: mpi works only in ranks that MPI has started: JRUN_BACKEND=mpi mpirun -n 2 java ..., or 'jrun bench --backend mpi'.
        --encrypt --backend=gloo train.jar | --encrypt: gloo sends its data in plain text; use --backend=jrun, or leave --encrypt out.
        --env==A train.jar               | --env: '=A' is not usable; give NAME=VALUE, or NAME for the value that jrun's environment has.
        -r=4 train.jar                   | --redirects: '4' is not usable; give 0, 1, 2 or 3, or such numbers by local rank: 0:3,11:1. The nodes of an allocation are chosen with --include.
        -t=0:9 train.jar                 | --tee: '0:9' is not usable; give 0, 1, 2 or 3, or such numbers by local rank: 0:3,11:1. A time limit is --timeout, of 'jrun submit' also --time.
        --ranks-filter=5-2 train.jar     | --ranks-filter: '5-2' is not usable; give ranks like 0,2-5.
        --metrics-port=70000 train.jar   | --metrics-port: '70000' is not usable; give a whole number from 0 to 65535.
        --track=wandb:x train.jar         | --track: 'wandb:x' is not usable; give the address of an MLflow server, as mlflow:http://host:5000.
        --track=mlflow:ftp://a train.jar  | --track: 'mlflow:ftp://a' is not usable; give the address of an MLflow server, as mlflow:http://host:5000.
        --report= train.jar               | --report: '' is not usable; give a path.
        --metrics-port=here train.jar    | --metrics-port: 'here' is not usable; give a whole number from 0 to 65535.
        --master-addr=a:29500 train.jar  | --master-addr: 'a:29500' is not usable; give a host without a port; the port is an option of its own.
        --stdin=first train.jar          | --stdin: 'first' is not usable; give a rank, all or none.
        --stdin=0 --max-restarts=1 train.jar | --stdin is for jobs that do not restart, because no worker can read the same input twice. Leave out --max-restarts and MIN:MAX, or give the input as a file.
        --stdin=0 --detach train.jar     | --stdin: a job of --detach has no standard input. Leave one of the two out.
        --master-port=70000 train.jar    | --master-port: '70000' is not usable; give a whole number from 0 to 65535.
        --signals-to-handle=QUIT train.jar  | --signals-to-handle: SIGQUIT alone cannot be handled, since a JVM prints its threads on it and takes no handler. Give some of SIGTERM,SIGINT,SIGHUP,SIGUSR1,SIGUSR2 too.
        --signals-to-handle=SEGV train.jar  | --signals-to-handle: 'SEGV' is not usable; give some of SIGTERM,SIGINT,SIGHUP,SIGUSR1,SIGUSR2.
        --workdir=nowhere train.jar      | --workdir: nowhere: no such folder.
        --gpu-visibility=two train.jar   | --gpu-visibility: 'two' is not usable; give one or all.
        --classpath=nowhere train.jar    | --classpath: nowhere: no such file or folder.
        --java=nowhere train.jar         | --java: no bin/java in nowhere. Give the folder of a JDK.
        --java=jdk17 train.jar           | --java: jdk17 is Java 17.0.13, and jrun's runtime needs Java 25 or newer. Give the folder of such a JDK.
        --java=jdk8/bin/java train.jar   | --java: jdk8/bin/java is Java 1.8.0_432, and jrun's runtime needs Java 25 or newer. Give the folder of such a JDK.
        --launch=ssh train.jar           | --launch ssh needs the hosts: --hosts or --hostfile.
        --launch=local --hosts=a train.jar | --launch local means this machine alone, but --hosts names hosts.
        --agent-port=1 train.jar         | --agent-port is for standing agents, and this job uses none; see --hosts. Leave it out.
        --secret-file=s train.jar        | --secret-file is for standing agents, and this job uses none; see --hosts. Leave it out.
        --ssh-options=-v train.jar       | --ssh-options is for hosts that ssh reaches, and this job has none; see --launch. Leave it out.
        --hosts=a --secret-file=train.py --remote-jrun=j train.jar | --remote-jrun is for hosts that ssh reaches, and this job has none; see --launch. Leave it out.
        --join-timeout=9 train.jar       | --join-timeout is for jobs on several hosts; see --hosts. Leave it out.
        --hosts=a,b --launch=ssh --node-cooldown=9 train.jar | --node-cooldown is for jobs with --nnodes MIN:MAX or --spares. Leave it out.
        --restart-window=9m train.jar    | --restart-window limits restarts, but --max-restarts is 0. Leave it out.
        --hosts=a --launch=ssh --rdzv-endpoint=a train.jar | --rdzv-endpoint is for one jrun on each node, but this jrun starts all named hosts. Leave it out.
        --launch=rsh train.jar           | --launch: 'rsh' is not usable; give auto, local, hosts, ssh or slurm.
        --hosts=a --hostfile=b train.jar | --hosts and --hostfile both name the hosts; give one of them.
        --hosts=a,a:2 train.jar          | --hosts: host 'a' is named twice, with a number of workers and without one; write the number each time, or once in all.
        --hosts=ssh://me@a:22 train.jar  | --hosts: 'ssh://me@a:22': write user@host; a port goes into ~/.ssh/config, or into --ssh-options='-p PORT'.
        --hosts=me@a --secret-file=train.py train.jar | --hosts: 'me@a': a standing agent runs as the user who started it; leave the user out, or use --launch=ssh.
        --hosts=n[2-1] train.jar         | --hosts: 'n[2-1]': the range 2-1 goes down.
        --nodelist=n[a-c] train.jar      | --nodelist: 'n[a-c]': brackets hold decimal numbers and ranges, such as [01-04,07], not 'a'.
        --hosts=a:0 train.jar            | --hosts: 'a:0': '0' is no number of workers from 1 to 4096.
        --hosts=, train.jar              | --hosts: no host is named.
        --hostfile=b train.jar           | --hostfile: b: no such file.
        --hostfile=train.py train.jar    | --hostfile: train.py: line 1: 'print()': a host's name has letters, digits, dots, dashes and underscores.
        --hosts=a --agent-port=0 train.jar | --agent-port: '0' is not usable; give a whole number from 1 to 65535.
        --hosts=a,b --secret-file=train.py --nnodes=3 train.jar | --nnodes: '3' is not usable; the number of named hosts is 2.
        --hosts=a --secret-file=train.py --standalone train.jar | --standalone means this machine alone, but hosts are named.
        --json=maybe train.jar           | --json: 'maybe' is not usable; give true or false.
        --nproc-per-node=2               | PROGRAM is missing; usage: jrun [options] PROGRAM [args...]. 'jrun -h' shows examples.
        -t train.jar                     | -t takes the word after it as its value. --tee: 'train.jar' is not usable; give 0, 1, 2 or 3, or such numbers by local rank: 0:3,11:1. A time limit is --timeout, of 'jrun submit' also --time.
        -t train.jar --steps=5           | -t takes the word after it as its value. --tee: 'train.jar' is not usable; give 0, 1, 2 or 3, or such numbers by local rank: 0:3,11:1. A time limit is --timeout, of 'jrun submit' also --time.
        -f train.jar                     | --file: 'train.jar' is a jar, not a job file; a program follows the options: jrun --file=JOB.yaml train.jar.
        --role train.jar                 | PROGRAM is missing; usage: jrun [options] PROGRAM [args...]. 'train.jar' was taken as the value of --role. 'jrun -h' shows examples.
        --node-rank=[1- train.jar        | --node-rank: '[1-' is not usable; give a whole number from 0 to 65535.
        --local-addr=../etc train.jar    | --local-addr: '../etc' is not usable; give a host's name (letters, digits, dots, dashes, underscores) or an address.
        --master-addr=a/b train.jar      | --master-addr: 'a/b' is not usable; give a host's name (letters, digits, dots, dashes, underscores) or an address.
        --rdzv-endpoint=a/b:1 train.jar  | --rdzv-endpoint: 'a/b:1' is not usable; give a host's name (letters, digits, dots, dashes, underscores) or an address.
        --rdzv-endpoint=a:x train.jar    | --rdzv-endpoint: 'x' is not usable; give a whole number from 0 to 65535.
        --rdzv-conf=timeout=x train.jar  | --rdzv-conf: timeout: 'x' is not usable; give seconds, or a number with ms, s, m or h: 90, 90s, 10m, 2h, 1:30:00, 2-12.
        --rdzv-conf='timeout=5 train.jar | --rdzv-conf: ''timeout=5' is not usable; give KEY=VALUE with one of close_timeout, heartbeat_timeout, is_host, join_timeout, keep_alive_interval, keep_alive_max_attempt, last_call_timeout, rank, read_timeout, store_type, timeout, use_libuv.
        --rdzv-conf=timeout=1,timeout=2 train.jar | --rdzv-conf: 'timeout=1,timeout=2' is not usable; give each key once, and timeout comes twice.
        --restart-window=x train.jar     | --restart-window: 'x' is not usable; give seconds, or a number with ms, s, m or h: 90, 90s, 10m, 2h, 1:30:00, 2-12.
        --log-dir= train.jar             | --log-dir: '' is not usable; give a path.
        --workdir= train.jar             | --workdir: '' is not usable; give a path.
        --main-class=-version train.jar  | --main-class: '-version' is not usable; give the name of a class, as app.Train.
        --jvm-opts=Xmx1g train.jar       | --jvm-opts: 'Xmx1g' is not usable; give options of a JVM, which begin with a dash.
        --hosts=a --ssh-options=b train.jar | --ssh-options: 'b' is not usable; give options for ssh, which begin with a dash.
        --nproc-per-node=010 train.jar   | --nproc-per-node: '010' is not usable, since some programs read a leading zero as octal; write it without: 10.
        --nproc-per-node=+2 train.jar    | --nproc-per-node: '+2' is not usable; give auto, cpu, gpu, or a number of workers from 1 to 4096.
        --nproc-per-node=٣ train.jar | --nproc-per-node: '٣' is not usable; give auto, cpu, gpu, or a number of workers from 1 to 4096.
        --max-restarts=٣ train.jar  | --max-restarts: '٣' is not usable; give a whole number, at least 0.
        --max-restarts=99999999999 train.jar | --max-restarts: '99999999999' is not usable; give a whole number, at least 0.
        --master-port=08080 train.jar    | --master-port: '08080' is not usable, since some programs read a leading zero as octal; write it without: 8080.
        --nnodes=01 train.jar            | --nnodes: '01' is not usable, since some programs read a leading zero as octal; write it without: 1.
        --timeout=010m train.jar         | --timeout: '010m' is not usable, since some programs read a leading zero as octal; write it without: 10m.
        --timeout=NaN train.jar          | --timeout: 'NaN' is not usable; give seconds, or a number with ms, s, m or h: 90, 90s, 10m, 2h, 1:30:00, 2-12.
        --timeout=1e3 train.jar          | --timeout: '1e3' is not usable; give seconds, or a number with ms, s, m or h: 90, 90s, 10m, 2h, 1:30:00, 2-12.
        --worker-timeout=0.0001 train.jar | --worker-timeout: '0.0001' is not usable; give 0 for never, or 1 s and more.
        -r=0:3,0:1 train.jar             | --redirects: '0:3,0:1' is not usable; give each local rank once, and 0 comes twice.
        -r=-1:3 train.jar                | --redirects: '-1:3' is not usable; give 0, 1, 2 or 3, or such numbers by local rank: 0:3,11:1.
        --ranks-filter=0-999999,5-9 train.jar | --ranks-filter: '0-999999,5-9' is not usable; give ranks like 0,2-5, at most 1000000 of them.
        --map-by=ppr:02 train.jar        | --map-by: 'ppr:02' is not usable; give node, slot, or ppr:N with a number of workers from 1 to 4096.
        --hosts=a:08 train.jar           | --hosts: 'a:08': '08' has a leading zero; write 8.
        --hosts=h1:4 --include=h1:0-9 train.jar | --include: '9' is not a GPU of h1:4, which has the GPUs 0 to 3.
        --hosts=h1:4 --exclude=h1:4 train.jar | --exclude: '4' is not a GPU of h1:4, which has the GPUs 0 to 3.
        --workdir=no/where train.jar     | --workdir: no/where: the folder FOLDER/no does not exist.
        --classpath=no/where train.jar   | --classpath: no/where: the folder FOLDER/no does not exist.
        --file=no/job.yaml train.jar     | no/job.yaml: the folder FOLDER/no does not exist.
        --hostfile=no/hosts train.jar    | --hostfile: no/hosts: the folder FOLDER/no does not exist.
        no/where/train.jar               | no/where/train.jar: the folder FOLDER/no does not exist.
        ./no/train                       | ./no/train: the folder FOLDER/no does not exist.
        train.py/x.jar                   | train.py/x.jar: FOLDER/train.py is a file, not a folder.
        --file=jdk8 train.jar            | jdk8: a folder, not a file. Give a file.
        --file=/dev/zero train.jar       | /dev/zero: a device, not a file. Give a file or a pipe.
        --hostfile=/dev/zero train.jar   | --hostfile: /dev/zero: a device, not a file. Give a file or a pipe.
        --detach --file=- train.jar      | --file: '-' is no regular file, and with --detach the job's launcher reads the job file once more. Give a regular file.
        trian.jar                        | trian.jar: no such file; did you mean 'train.jar'?
        ./trian.jar                      | ./trian.jar: no such file; did you mean './train.jar'?
        library.jar                      | library.jar: the jar's manifest names no Main-Class. Name one with --main-class, or set it in the build.
        no-such-program                  | no-such-program: no such program on PATH and no such file here.
        decribe job                      | decribe: no such program on PATH and no such file here; did you mean 'jrun describe'?
        cancle job                       | cancle: no such program on PATH and no such file here; did you mean 'jrun cancel'?
        pss                              | pss: no such program on PATH and no such file here; did you mean 'jrun ps'?
        lgos job                         | lgos: no such program on PATH and no such file here; did you mean 'jrun logs'?
        abort job                        | abort: no such program on PATH and no such file here; did you mean 'jrun cancel'?
        --json doctor                    | doctor: no such program on PATH and no such file here; the command 'doctor' comes first: jrun doctor [options].
        launch train.jar                 | launch: no such program on PATH and no such file here; leave 'launch' out: jrun [options] PROGRAM [args...].
        --main-class=app.Nope train.jar  | train.jar: the main class 'app.Nope' is neither in the jar nor on the class path. Name one with --main-class, or add its jar with --classpath.
        --main-class=A sh                | --main-class is for jars, but 'sh' is run as an executable. Leave it out, or name a jar.
        --jvm-opts=-Xmx1g sh             | --jvm-opts is for jars, but 'sh' is run as an executable. Leave it out, or name a jar.
        --file=job.yaml train.jar        | job.yaml: no such file.
        """)
    void refusalIsOneLineWithASuggestion(String line, String message) {
        assertThatThrownBy(() -> requests.request(line.split(" ")))
                .isInstanceOf(UsageException.class)
                .hasMessage(message.replace("FOLDER", folder.toString()));
    }

    @Test
    void valueThatHoldsAnythingStaysOneLine() {
        assertThatThrownBy(() -> requests.request("--run-id=a\nb\u001b[31m\u2028", "train.jar"))
                .isInstanceOf(UsageException.class)
                .hasMessageStartingWith("--run-id: 'a\\nb\\u001b[31m\\u2028' is not usable; give ");
    }

    @Test
    void valueThatIsLongIsCutInTheMessage() {
        String cut = "a".repeat(59) + "[...]" + "a".repeat(59);
        assertThatThrownBy(() -> requests.request("--run-id=" + "a".repeat(100_000), "train.jar"))
                .hasMessage(
                        "--run-id: '" + cut
                                + "' is not usable; give up to 64 letters, digits, dots, dashes and underscores, a letter or digit first.");
        assertThatThrownBy(() -> requests.request("--hosts=" + "a".repeat(1 << 20), "train.jar"))
                .message()
                .startsWith("--hosts: 'aaa")
                .hasSizeLessThan(300);
        assertThatThrownBy(() -> requests.request("--" + "a".repeat(1 << 20), "train.jar"))
                .message()
                .endsWith("'; 'jrun --help' lists the options.")
                .hasSizeLessThan(300);
    }

    @ParameterizedTest
    @CsvSource({"--log-dir", "--workdir", "--file", "--hostfile", "--secret-file", "--stage", "--java"})
    void pathOfBlanksIsRefused(String option) {
        assertThatThrownBy(() -> requests.request(option + "= ", "train.jar"))
                .hasMessage(option + ": ' ' is not usable; give a path.");
    }

    @Test
    void pathThatIsTooLongIsRefusedAtOnce() {
        assertThatThrownBy(() -> requests.request("--workdir=" + "a/".repeat(60_000), "train.jar"))
                .hasMessageStartingWith("'a/a/")
                .hasMessageEndingWith("/' is not a path: longer than 4095 characters.");
    }

    @Test
    void emptyProgramIsRefused() {
        assertThatThrownBy(() -> requests.request("")).hasMessage("PROGRAM is ''; name a jar or an executable.");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        nproc_per_nod: 2                 | job.yaml, line 1: unknown key 'nproc_per_nod'; did you mean 'nproc-per-node'?
        file: other.yaml                 | job.yaml, line 1: unknown key 'file'.
        nproc-per-node: [2]              | job.yaml, line 1: key 'nproc-per-node' must be a single value, not a list.
        nproc-per-node: {a: 1}           | job.yaml, line 1: key 'nproc-per-node' must be a single value, not a map.
        json: perhaps                    | job.yaml, line 1: key 'json' must be true or false, not 'perhaps'.
        args: all                        | job.yaml, line 1: key 'args' must be a list, not 'all'.
        env: {A: [1]}                    | job.yaml, line 1: key 'env.A' must be a single value, not a list.
        program:                         | job.yaml, line 1: key 'program' must be a single value, not nothing.
        {nnodes: 1, role: a, nnodes: 2}  | job.yaml, line 1: key 'nnodes' is given twice, first in line 1. Give it once.
        {max-restarts: 1, max_restarts: 2} | job.yaml, line 1: key 'max_restarts' is given twice, once under another name.
        program: "a\\0b"                  | job.yaml, line 1: key 'program' has a NUL character (\\0), which no argument, variable or path can hold. Remove it.
        args: [a, "b\\0"]                 | job.yaml, line 1: key 'args[1]' has a NUL character (\\0), which no argument, variable or path can hold. Remove it.
        env: {A: "\\0"}                   | job.yaml, line 1: key 'env.A' has a NUL character (\\0), which no argument, variable or path can hold. Remove it.
        env: {"A=B": c}                  | job.yaml, line 1: key 'env': 'A=B' is no name of a variable.
        program: "\\ud800"                | job.yaml, line 1: key 'program' has half of a surrogate pair (\\ud800 to \\udfff), which is no character. Write both halves.
        program: ""                      | job.yaml, line 1: key 'program' is empty; name a jar or an executable.
        nproc-per-node: 010              | --nproc-per-node (from job.yaml, line 1): '010' is not usable, since some programs read a leading zero as octal; write it without: 10.
        nproc-per-node: 1_0              | --nproc-per-node (from job.yaml, line 1): '1_0' is not usable; give auto, cpu, gpu, or a number of workers from 1 to 4096.
        nproc-per-node: .nan             | --nproc-per-node (from job.yaml, line 1): '.nan' is not usable; give auto, cpu, gpu, or a number of workers from 1 to 4096.
        {role: &a x, run-id: *a}         | job.yaml, line 1: '*a' is a YAML alias, which a job file cannot have. Write the value itself.
        env: {A: 1, A: 2}                | job.yaml, line 1: key 'A' is given twice, first in line 1. Give it once.
        [[[[[[[[[1]]]]]]]]]              | job.yaml, line 1: more than 8 lists or maps inside each other. Write option names and plain values.
        just words                       | job.yaml: a job file is a map of option names, as 'nproc-per-node: 2'.
        timeout: never                   | --timeout (from job.yaml, line 1): 'never' is not usable; give seconds, or a number with ms, s, m or h: 90, 90s, 10m, 2h, 1:30:00, 2-12.
        """)
    void refusalOfAJobFileNamesTheKey(String content, String message) throws IOException {
        Files.writeString(folder.resolve("job.yaml"), content);
        assertThatThrownBy(() -> requests.request("--file=job.yaml", "train.jar"))
                .isInstanceOf(UsageException.class)
                .hasMessage(message);
    }

    @Test
    void textAfterTheJobIsRefused() throws IOException {
        Files.writeString(folder.resolve("job.yaml"), "role: a\n---\nrole: b\n");
        assertThatThrownBy(() -> requests.request("--file=job.yaml", "train.jar"))
                .hasMessage(
                        "job.yaml, line 3: a second document begins here, and a job file is one. Remove it, or put it in"
                                + " a file of its own.");
        Files.writeString(folder.resolve("job.json"), "{\"role\": \"a\"}\n{\"role\": \"b\"}");
        assertThatThrownBy(() -> requests.request("--file=job.json", "train.jar"))
                .hasMessageStartingWith("job.json, line 2: a second document begins here");
        Files.writeString(folder.resolve("job.json"), "{\"role\": \"a\"}\nand more");
        assertThatThrownBy(() -> requests.request("--file=job.json", "train.jar"))
                .hasMessageStartingWith("job.json, line 2: not readable: Unrecognized token 'and'");
    }

    @Test
    void fileThatIsNoTextIsRefusedWithItsLine() throws IOException {
        Files.write(folder.resolve("job.yaml"), new byte[] {'r', 'o', 'l', 'e', '\n', (byte) 0xff});
        assertThatThrownBy(() -> requests.request("--file=job.yaml", "train.jar"))
                .hasMessage("job.yaml, line 2: not UTF-8 text. Give a text file in UTF-8.");
        Files.writeString(folder.resolve("hosts"), "h1\nh2\0\n");
        assertThatThrownBy(() -> requests.request("--hostfile=hosts", "train.jar"))
                .hasMessage("--hostfile: hosts, line 2: a NUL byte, so this is no text file. Give a text file.");
    }

    @Test
    void largeFileIsRefusedBeforeItIsParsed() throws IOException {
        Files.writeString(folder.resolve("job.yaml"), "role: " + "a".repeat(1 << 20));
        assertThatThrownBy(() -> requests.request("--file=job.yaml", "train.jar"))
                .hasMessage("job.yaml: larger than 1 MiB, the limit of such a file. Give the right file.");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        h1 slots=2 slots=3       | 'h1 slots=2 slots=3': 'slots=3' gives the number of workers a second time, after 2; give the number once
        h1:8 slots=4             | 'h1:8 slots=4': 'slots=4' gives the number of workers a second time, after 8; give the number once
        h1 slots=4 max_slots=2   | 'h1 slots=4 max_slots=2': 4 workers are more than max_slots, 2
        h1 slots=010             | 'h1 slots=010': '010' has a leading zero; write 10
        """)
    void contradictionInAHostFileIsRefused(String line, String message) throws IOException {
        Files.writeString(folder.resolve("hosts"), "h0\n" + line + "\n");
        assertThatThrownBy(() -> requests.request("--hostfile=hosts", "train.jar"))
                .hasMessage("--hostfile: hosts: line 2: " + message + ".");
    }

    @Test
    void brokenJobFileNamesTheLine() throws IOException {
        Files.writeString(folder.resolve("job.json"), "{\n  \"timeout\": 5,\n  oops\n}");
        assertThatThrownBy(() -> requests.request("--file=job.json", "train.jar"))
                .isInstanceOf(UsageException.class)
                .hasMessageStartingWith("job.json, line 3: not readable: ");
    }

    @Test
    void refusalNamesTheVariableItComesFrom() {
        requests.with("PET_NNODES", "2:4");
        assertThatThrownBy(() -> requests.job())
                .hasMessage(
                        "--nnodes (from PET_NNODES): '2:4' nodes, but no hosts are named; give --hosts or --hostfile,"
                                + " or on every node --rdzv-endpoint=HOST:PORT.");
    }
}
