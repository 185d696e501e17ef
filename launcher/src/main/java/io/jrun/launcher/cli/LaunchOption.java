package io.jrun.launcher.cli;

import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * The table of all launch options. The command line, job files, environment defaults, help and shell completion use
 * this one table, so all of them have the same options.
 */
public enum LaunchOption implements CommandLineOption {
    NNODES(
            "--nnodes",
            "N|MIN:MAX",
            "the number of named hosts, or 1",
            Kind.TORCHRUN,
            OptionGroup.JOB,
            "Number of nodes. With MIN:MAX the job starts, and continues after a restart, with any number of "
                    + "nodes from MIN to MAX. Further nodes are spares."),
    SPARES(
            "--spares",
            "K",
            "0",
            Kind.OWN,
            OptionGroup.JOB,
            "The last K of the named hosts stand by. A spare host replaces a lost host at the next restart and "
                    + "takes its ranks."),
    JOIN_TIMEOUT(
            "--join-timeout",
            "TIME",
            "60 s",
            Kind.OWN,
            OptionGroup.JOB,
            "Longest time that jrun waits for nodes, at the start of the job and after a loss of nodes. Once MIN "
                    + "nodes have joined, jrun waits at most 30 s for the other nodes."),
    NODE_COOLDOWN(
            "--node-cooldown",
            "TIME",
            "30 s",
            Kind.OWN,
            OptionGroup.JOB,
            "With --nnodes=MIN:MAX or --spares: time after which jrun tries again to reach a lost host."),
    NPROC_PER_NODE(
            "--nproc-per-node",
            "N|auto|cpu|gpu",
            "gpu on a node with GPUs, else 1",
            Kind.TORCHRUN,
            OptionGroup.JOB,
            "Workers on each node: a number, gpu (one for each GPU), cpu (one for each usable core), or auto "
                    + "(gpu where there are GPUs, else cpu). For a job on the CPU of a node with GPUs give 1 or cpu."),
    NTASKS(
            "-n --ntasks -np --np",
            "N",
            "the workers of all nodes",
            Kind.OWN,
            OptionGroup.JOB,
            "Number of workers on all nodes together, as in mpirun and srun. Hosts with a number of workers are filled "
                    + "in the order of --map-by. Hosts without a number share the workers equally."),
    STANDALONE(
            "--standalone",
            "",
            "",
            Kind.TORCHRUN,
            OptionGroup.JOB,
            "Run the job on this machine only, also inside a Slurm allocation."),
    NODE_RANK(
            "--node-rank",
            "N",
            "the next free number",
            Kind.TORCHRUN,
            OptionGroup.RENDEZVOUS,
            "Number of this node, from 0. Node 0 hosts the job, unless --rdzv-backend=c10d is given."),
    RDZV_ENDPOINT(
            "--rdzv-endpoint",
            "HOST:PORT",
            "",
            Kind.TORCHRUN,
            OptionGroup.RENDEZVOUS,
            "Address of the rendezvous, at which the jrun processes of all nodes meet. Start the same command on every "
                    + "node, in any order. The jrun on HOST hosts the job. Each jrun shows the output of its own "
                    + "workers and ends with the exit code of the job. All nodes need the same --secret-file. Default "
                    + "port: 29400."),
    RDZV_ID(
            "--rdzv-id",
            "ID",
            "computed from the command line",
            Kind.TORCHRUN,
            OptionGroup.RENDEZVOUS,
            "Name of the job, the same on all nodes. Without --run-id also the run id."),
    RDZV_CONF(
            "--rdzv-conf",
            "K=V,...",
            "",
            Kind.TORCHRUN,
            OptionGroup.RENDEZVOUS,
            "Settings of the rendezvous: join_timeout or timeout (default: 600 s), last_call_timeout (default: 30 s; "
                    + "time to wait for more than MIN nodes), is_host. jrun accepts and ignores the other settings of "
                    + "torchrun."),
    RDZV_BACKEND(
            "--rdzv-backend",
            "c10d|static|jrun",
            "jrun",
            Kind.TORCHRUN,
            OptionGroup.RENDEZVOUS,
            "All three names mean jrun's own rendezvous. With c10d the host of the endpoint hosts the job, "
                    + "whatever --node-rank is."),
    MASTER_ADDR(
            "--master-addr",
            "HOST",
            "",
            Kind.TORCHRUN,
            OptionGroup.RENDEZVOUS,
            "Static rendezvous of torchrun: the nodes meet at HOST:PORT, where PORT is --master-port (default: 29500). "
                    + "HOST and PORT are also MASTER_ADDR and MASTER_PORT of the workers."),
    LOCAL_ADDR(
            "--local-addr",
            "ADDRESS",
            "the address that reaches the endpoint",
            Kind.TORCHRUN,
            OptionGroup.RENDEZVOUS,
            "Address at which the other nodes reach the workers of this node."),
    LAUNCH(
            "--launch",
            "auto|local|hosts|ssh|slurm",
            "auto",
            Kind.OWN,
            OptionGroup.HOSTS,
            "How jrun reaches an agent on each host. local: this machine only. hosts: a standing agent ('jrun agent') "
                    + "already runs on each host. ssh: jrun starts the agents over ssh. slurm: jrun starts the agents "
                    + "with srun in a Slurm allocation. auto: slurm in an allocation, unless --rdzv-endpoint or "
                    + "--standalone is given; for named hosts, hosts if there is a secret file, else ssh. "
                    + "--ssh-options means ssh."),
    HOSTS(
            "--hosts --nodelist",
            "HOSTS",
            "",
            Kind.OWN,
            OptionGroup.HOSTS,
            "Hosts to run on, in this order: h1:8,h2:4 or gpu[01-04,07]:8 (Slurm's form). The number after the colon "
                    + "is the number of workers. A host without a number gets --nproc-per-node workers. jrun must be "
                    + "installed under the same path on all hosts. jrun copies the program and its jars to hosts that "
                    + "lack them."),
    HOSTFILE(
            "--hostfile",
            "PATH",
            "",
            Kind.OWN,
            OptionGroup.HOSTS,
            "File of hosts, one on each line: 'node1 slots=8', 'node1:8' or 'node1'. A # begins a comment."),
    INCLUDE(
            "--include",
            "HOSTS",
            "all",
            Kind.OWN,
            OptionGroup.HOSTS,
            "Use only these hosts of the named hosts or of the Slurm allocation: h1,h[3-4]. Numbers after a colon "
                    + "choose GPUs of a host, with one worker for each GPU: h1:0,2 or h1:0-3. @ may separate hosts "
                    + "too, as in DeepSpeed."),
    EXCLUDE(
            "--exclude",
            "HOSTS",
            "none",
            Kind.OWN,
            OptionGroup.HOSTS,
            "Do not use these hosts, or these GPUs of a host. Same form as --include."),
    MAP_BY(
            "--map-by",
            "slot|node|ppr:N",
            "slot",
            Kind.OWN,
            OptionGroup.HOSTS,
            "Order of ranks. slot: host after host. node: one rank on each host in turn. ppr:N: host after host "
                    + "with N workers on each."),
    BIND_TO(
            "--bind-to",
            "core|numa|gpu|none",
            "none",
            Kind.OWN,
            OptionGroup.PROGRAM,
            "Bind each worker to CPUs. core: an equal part of the node's usable cores. numa: a NUMA domain. gpu: "
                    + "the cores, and so the memory, near the worker's GPU. none: no binding. --dry-run shows the "
                    + "CPUs."),
    NUMA_BINDING(
            "--numa-binding",
            "MODE",
            "",
            Kind.TORCHRUN,
            OptionGroup.PROGRAM,
            "torchrun's name for --bind-to: node means gpu, exclusive means core."),
    AGENT_PORT(
            "--agent-port",
            "PORT",
            "29600",
            Kind.OWN,
            OptionGroup.HOSTS,
            "Port of the standing agents, the same on all hosts."),
    SECRET_FILE(
            "--secret-file",
            "PATH",
            "~/.config/jrun/secret",
            Kind.OWN,
            OptionGroup.HOSTS,
            "File with the secret that jrun and the standing agents share. Everyone who can read the file can run "
                    + "programs on the hosts of the agents."),
    SSH_OPTIONS(
            "--ssh-options",
            "OPTIONS",
            "",
            Kind.OWN,
            OptionGroup.HOSTS,
            "Options for ssh, such as '-p 2222 -i KEY'. ssh reads ~/.ssh/config too."),
    REMOTE_JRUN(
            "--remote-jrun",
            "PATH",
            "the path of this jrun; if a host has no such file, the jrun on its PATH",
            Kind.OWN,
            OptionGroup.HOSTS,
            "Path of the jrun command on hosts that ssh reaches."),
    RUN_ID(
            "--run-id",
            "ID",
            "a generated name",
            Kind.OWN,
            OptionGroup.JOB,
            "Name of the job and of its log folder: up to 64 letters, digits, dots, dashes and underscores."),
    MAX_RESTARTS(
            "--max-restarts",
            "N",
            "0",
            Kind.TORCHRUN,
            OptionGroup.JOB,
            "Number of times that jrun starts all workers again after a failure, counted for the whole job. jrun "
                    + "does not restart the job after a worker that exits with 65."),
    RESTART_WINDOW(
            "--restart-window",
            "TIME",
            "the whole job",
            Kind.OWN,
            OptionGroup.JOB,
            "Count only the restarts of the last TIME towards --max-restarts."),
    TIMEOUT(
            "--timeout",
            "TIME",
            "no limit",
            Kind.OWN,
            OptionGroup.JOB,
            "End the job after this time, with exit code 124."),
    FILE(
            "-f --file",
            "PATH",
            "",
            Kind.COMMAND_LINE_ONLY,
            OptionGroup.JOB,
            "Read options from a job file in YAML or JSON. The keys are long option names, program and args. The "
                    + "command line overrides the file. PROGRAM on the command line replaces both program and args. -: "
                    + "read stdin."),
    JAVA(
            "--java",
            "PATH",
            "the JDK that runs jrun; in an installed package the JDK of JAVA_HOME, if it is new enough",
            Kind.OWN,
            OptionGroup.PROGRAM,
            "JDK, or its bin/java, that runs the workers. jrun needs Java 25 or newer."),
    MAIN_CLASS(
            "--main-class",
            "NAME",
            "the jar's Main-Class",
            Kind.OWN,
            OptionGroup.PROGRAM,
            "Class to run instead of the jar's Main-Class. With this option PROGRAM may also be a folder of "
                    + "classes."),
    CLASSPATH(
            "--classpath",
            "PATHS",
            "",
            Kind.OWN_LIST,
            OptionGroup.PROGRAM,
            "More jars and folders for the class path of the workers, after PROGRAM. Colons separate the paths. "
                    + "Repeatable."),
    JVM_OPTS(
            "--jvm-opts",
            "OPTIONS",
            "",
            Kind.OWN_LIST,
            OptionGroup.PROGRAM,
            "JVM options of the workers, separated and quoted as in a shell. They override jrun's own JVM "
                    + "options. Repeatable."),
    BLAS(
            "--blas",
            "openblas|mkl",
            "openblas",
            Kind.OWN,
            OptionGroup.PROGRAM,
            "Library that multiplies the matrices of libtorch on CPUs. mkl: Intel MKL, which Maven fetches once (156 "
                    + "MB). 'jrun doctor' compares both."),
    BACKEND(
            "--backend",
            "jrun|jrun-only|gloo|nccl",
            "jrun",
            Kind.OWN,
            OptionGroup.PROGRAM,
            "Library that moves the data of process groups. jrun: shared memory and TCP; memory of GPUs over NCCL "
                    + "where each rank has a GPU and NCCL, else through host memory. jrun-only: never NCCL. nccl: NCCL "
                    + "for memory of GPUs, an error without it. gloo: the Gloo of libtorch, TCP."),
    ENCRYPT(
            "--encrypt",
            "",
            "",
            Kind.OWN,
            OptionGroup.PROGRAM,
            "Encrypt the TCP connections between workers with TLS 1.3. gloo and nccl cannot encrypt. "
                    + "docs/security.md names the cost."),
    ENV(
            "--env",
            "NAME[=VALUE]",
            "",
            Kind.OWN_LIST,
            OptionGroup.PROGRAM,
            "Environment variable of the workers; without a value the variable of jrun's own environment, also on "
                    + "other hosts. Repeatable. jrun adds the variables of the job file and of "
                    + "JRUN_ENV (NAME=VALUE words, quoted as in a shell)."),
    WORKDIR("--workdir", "DIR", "the current folder", Kind.OWN, OptionGroup.PROGRAM, "Working folder of the workers."),
    STAGE(
            "--stage",
            "PATH",
            "",
            Kind.OWN_LIST,
            OptionGroup.PROGRAM,
            "File or folder below the working folder that workers need besides the program and its class path. "
                    + "jrun copies the file or folder to hosts that lack it (docs/operations.md). Repeatable."),
    MODULE(
            "-m --module",
            "",
            "",
            Kind.TORCHRUN,
            OptionGroup.PROGRAM,
            "PROGRAM is the name of a Python module: run 'python3 -u -m PROGRAM'. The variable PYTHON_EXEC names "
                    + "another interpreter."),
    RUN_PATH(
            "--run-path",
            "",
            "",
            Kind.TORCHRUN,
            OptionGroup.PROGRAM,
            "PROGRAM is a Python script: run 'python3 -u PROGRAM', as for each .py file that is not executable."),
    NO_JAVA(
            "--no-java --no-python",
            "",
            "",
            Kind.TORCHRUN,
            OptionGroup.PROGRAM,
            "Run PROGRAM as an executable, even if it looks like a jar or a Python script."),
    GPU_VISIBILITY(
            "--gpu-visibility",
            "one|all",
            "one for jars, all for other programs",
            Kind.OWN,
            OptionGroup.PROGRAM,
            "GPUs that a worker sees. one: the worker's own GPU. all: all GPUs of the node, for programs that "
                    + "call set_device(LOCAL_RANK)."),
    VIRTUAL_LOCAL_RANK(
            "--virtual-local-rank",
            "",
            "",
            Kind.TORCHRUN,
            OptionGroup.PROGRAM,
            "Give every worker LOCAL_RANK=0 and only the worker's own GPU."),
    ROLE("--role", "NAME", "default", Kind.TORCHRUN, OptionGroup.PROGRAM, "Role of the workers, their ROLE_NAME."),
    MASTER_PORT(
            "--master-port",
            "PORT",
            "a free port",
            Kind.TORCHRUN,
            OptionGroup.PROGRAM,
            "MASTER_PORT of the workers, for programs with their own rendezvous. jrun reserves the port on node 0 for "
                    + "the job."),
    CONTAINER_IMAGE(
            "--container-image",
            "IMAGE",
            "",
            Kind.PYXIS,
            OptionGroup.CONTAINER,
            "Run each worker in a container of this image: a .sqsh file, a root folder, an OCI"
                    + " layout or archive, or an "
                    + "image of a registry as [USER@][REGISTRY#]IMAGE[:TAG] (docs/containers.md)."),
    CONTAINER_MOUNTS(
            "--container-mounts",
            "SRC[:DST[:FLAGS]],...",
            "",
            Kind.PYXIS_LIST,
            OptionGroup.CONTAINER,
            "Mount files and folders of the node, such as /data:/data:ro; also tmpfs:DST and umount:DST."
                    + " FLAGS are joined by +. Repeatable."),
    CONTAINER_WORKDIR(
            "--container-workdir",
            "DIR",
            "the image's, else --workdir if mounted, else /",
            Kind.PYXIS,
            OptionGroup.CONTAINER,
            "Working folder of the workers inside the container."),
    CONTAINER_NAME(
            "--container-name",
            "NAME[:auto|create|exec|no_exec]",
            "",
            Kind.PYXIS,
            OptionGroup.CONTAINER,
            "Keep the root on the node under this name. All workers of the node share the root. auto:"
                    + " join a running container, else use the existing root, else make the root from the image."
                    + " create: the root must not exist. exec: a job must run in the container. no_exec: like auto,"
                    + " but never join."),
    CONTAINER_SAVE(
            "--container-save",
            "PATH",
            "",
            Kind.PYXIS,
            OptionGroup.CONTAINER,
            "When local rank 0 has ended, write its root to this .sqsh file."),
    CONTAINER_MOUNT_HOME(
            "--container-mount-home", "", "", Kind.PYXIS, OptionGroup.CONTAINER, "Mount the user's home folder."),
    NO_CONTAINER_MOUNT_HOME(
            "--no-container-mount-home",
            "",
            "",
            Kind.PYXIS,
            OptionGroup.CONTAINER,
            "Do not mount the user's home folder. Overrides a job file and the environment."),
    CONTAINER_REMAP_ROOT(
            "--container-remap-root",
            "",
            "",
            Kind.PYXIS,
            OptionGroup.CONTAINER,
            "User ids are mapped: the user is root inside the container, and keeps the own user id on the node."),
    NO_CONTAINER_REMAP_ROOT(
            "--no-container-remap-root",
            "",
            "",
            Kind.PYXIS,
            OptionGroup.CONTAINER,
            "The user keeps the own user id inside the container. Overrides a job file and the environment."),
    CONTAINER_WRITABLE(
            "--container-writable",
            "",
            "",
            Kind.PYXIS,
            OptionGroup.CONTAINER,
            "Workers may write to the root. Each worker has its own layer, which ends with the worker."
                    + " This is the default."),
    CONTAINER_READONLY(
            "--container-readonly",
            "",
            "",
            Kind.PYXIS,
            OptionGroup.CONTAINER,
            "Workers may write to /tmp, /run and their mounts, but not to the root."),
    CONTAINER_ENTRYPOINT(
            "--container-entrypoint",
            "",
            "",
            Kind.PYXIS,
            OptionGroup.CONTAINER,
            "Start the program through the entrypoint of the image."),
    NO_CONTAINER_ENTRYPOINT(
            "--no-container-entrypoint",
            "",
            "",
            Kind.PYXIS,
            OptionGroup.CONTAINER,
            "Start the program itself. This is the default."),
    CONTAINER_ENTRYPOINT_LOG(
            "--container-entrypoint-log",
            "",
            "",
            Kind.PYXIS,
            OptionGroup.CONTAINER,
            "Show also the output of the entrypoint."),
    CONTAINER_ENV(
            "--container-env",
            "NAME,...",
            "",
            Kind.PYXIS_LIST,
            OptionGroup.CONTAINER,
            "Variables of the node that the image does not override. --env overrides both. Repeatable."),
    CONTAINER_UNSHARE(
            "--container-unshare",
            "net,ipc,uts,pid",
            "",
            Kind.PYXIS,
            OptionGroup.CONTAINER,
            "Namespaces that the workers do not share with the node. net: for jobs on one node."),
    CONTAINER_RUNTIME(
            "--container-runtime",
            "auto|builtin|enroot|podman|apptainer",
            "auto",
            Kind.OWN,
            OptionGroup.CONTAINER,
            "Engine that runs the workers. auto: builtin, which needs util-linux only. 'jrun doctor'"
                    + " lists the engines that a machine can run."),
    CONTAINER_JAVA(
            "--container-java",
            "auto|image|host",
            "auto",
            Kind.OWN,
            OptionGroup.CONTAINER,
            "JDK of the workers. image: the image's JDK. host: the node's JDK, mounted read-only. auto:"
                    + " the image's JDK if the JDK is new enough, else the node's JDK."),
    LOG_DIR(
            "--log-dir",
            "DIR",
            "$XDG_STATE_HOME/jrun/logs, else ~/.local/state/jrun/logs",
            Kind.TORCHRUN,
            OptionGroup.OUTPUT,
            "Folder of the log files. The files of a rank are in DIR/RUN_ID/attempt-N/rank-NNNN."),
    LOG_LIMIT(
            "--log-limit",
            "SIZE[:FILES]",
            "no limit",
            Kind.OWN,
            OptionGroup.OUTPUT,
            "Most that each stream of a worker keeps on disk: FILES files of SIZE bytes, with the unit K, M or G. Older "
                    + "output is removed. FILES is 5 by default."),
    REDIRECTS(
            "-r --redirects",
            "STREAMS",
            "0",
            Kind.TORCHRUN,
            OptionGroup.OUTPUT,
            "Streams that go to log files only, not to the console. 0: none, 1: stdout, 2: stderr, 3: both; or by "
                    + "local rank: 0:3,11:1. In srun -r chooses a node; jrun has --include."),
    TEE(
            "-t --tee",
            "STREAMS",
            "0",
            Kind.TORCHRUN,
            OptionGroup.OUTPUT,
            "Streams that go to log files and to the console, even if --redirects names the streams. Same form as "
                    + "--redirects."),
    LOCAL_RANKS_FILTER(
            "--local-ranks-filter",
            "RANKS",
            "all",
            Kind.TORCHRUN,
            OptionGroup.OUTPUT,
            "Local ranks whose output the console shows: 0,2-5. All ranks have log files."),
    RANKS_FILTER(
            "--ranks-filter",
            "RANKS",
            "all",
            Kind.OWN,
            OptionGroup.OUTPUT,
            "Global ranks whose output the console shows: 0,2-5. All ranks have log files."),
    LOG_LINE_PREFIX_TEMPLATE(
            "--log-line-prefix-template",
            "TEXT",
            "rank and host",
            Kind.TORCHRUN,
            OptionGroup.OUTPUT,
            "Prefix of the lines of the workers, in which ${rank}, ${local_rank}, ${role_name} and ${hostname} stand "
                    + "for those of the worker."),
    STDIN(
            "--stdin",
            "RANK|all|none",
            "none",
            Kind.OWN,
            OptionGroup.PROGRAM,
            "Workers that read the standard input of jrun: one rank, or all, each with a copy. With none, jrun leaves "
                    + "its standard input to the commands after it. Not for jobs that restart."),
    NO_PREFIX(
            "--no-prefix",
            "",
            "",
            Kind.OWN,
            OptionGroup.OUTPUT,
            "Show the lines of the workers without the rank and the host before each line, for programs that read the "
                    + "output."),
    JSON(
            "--json",
            "",
            "",
            Kind.OWN,
            OptionGroup.OUTPUT,
            "Print the result, or the rank map of --dry-run, as one JSON object on stdout. jrun then shows the "
                    + "stdout of the workers on stderr."),
    METRICS_PORT(
            "--metrics-port",
            "[ADDRESS:]PORT",
            "no endpoint",
            Kind.OWN,
            OptionGroup.OUTPUT,
            "Serve the metrics that the workers report, in OpenMetrics text format, at http://ADDRESS:PORT/metrics of "
                    + "the launcher's host, without authentication. ADDRESS is 127.0.0.1 if left out. With port 0 jrun "
                    + "takes a free port and prints its number."),
    TRACE(
            "--trace",
            "",
            "",
            Kind.OWN,
            OptionGroup.OUTPUT,
            "Keep the spans and operations of all steps for 'jrun trace', up to 256 MiB for each rank. Without the "
                    + "option the last steps are kept, in 1 MiB."),
    REPORT(
            "--report",
            "FILE",
            "no report",
            Kind.OWN,
            OptionGroup.OUTPUT,
            "Write a page about the job into one HTML file at its end, as 'jrun report' does."),
    TRACK(
            "--track",
            "mlflow:URI",
            "no tracking",
            Kind.OWN,
            OptionGroup.OUTPUT,
            "Send the metrics that the workers report to an MLflow server as a run of the experiment 'jrun': "
                    + "mlflow:http://host:5000."),
    SHUTDOWN_TIMEOUT(
            "--shutdown-timeout",
            "TIME",
            "30 s",
            Kind.TORCHRUN,
            OptionGroup.STOPPING,
            "Time between the stop signal and SIGKILL, for every reason to stop."),
    WORKER_TIMEOUT(
            "--worker-timeout",
            "TIME",
            "300 s",
            Kind.OWN,
            OptionGroup.STOPPING,
            "A worker that sends no heartbeat for this time counts as hung (exit code 75): its process is stopped, or "
                    + "its JVM is in a long pause. Only programs that use jrun's runtime send heartbeats. 0: no "
                    + "limit."),
    PROGRESS_TIMEOUT(
            "--progress-timeout",
            "TIME",
            "no limit",
            Kind.OWN,
            OptionGroup.STOPPING,
            "A worker that begins no collective and no message for this time, and waits in none, counts as hung "
                    + "(exit code 75). 0: no limit."),
    SIGNALS_TO_HANDLE(
            "--signals-to-handle",
            "NAMES",
            "SIGTERM,SIGINT,SIGHUP,SIGUSR1,SIGUSR2",
            Kind.TORCHRUN,
            OptionGroup.STOPPING,
            "Signals that jrun handles. SIGTERM, SIGINT and SIGHUP stop the job. SIGUSR1 and SIGUSR2 ask the "
                    + "workers for a checkpoint. jrun ignores those of the five signals that are not in the list. jrun "
                    + "accepts torchrun's SIGQUIT, which has no effect."),
    MONITOR_INTERVAL(
            "--monitor-interval",
            "SECONDS",
            "0.1 s",
            Kind.TORCHRUN,
            OptionGroup.STOPPING,
            "jrun accepts this option of torchrun and ignores the value: jrun sees the exit of a worker at once."),
    START_METHOD(
            "--start-method",
            "spawn|fork|forkserver",
            "",
            Kind.TORCHRUN,
            OptionGroup.OTHER,
            "jrun accepts this option of torchrun and ignores the value: each worker is a program of its own."),
    EVENT_LOG_HANDLER(
            "--event-log-handler",
            "null",
            "null",
            Kind.TORCHRUN,
            OptionGroup.OTHER,
            "jrun accepts torchrun's default. The events of a job are in its log folder (docs/job-events.md)."),
    LOGS_SPECS(
            "--logs-specs",
            "default",
            "default",
            Kind.TORCHRUN,
            OptionGroup.OTHER,
            "jrun accepts torchrun's default. A Python class cannot replace jrun's log files."),
    DETACH(
            "--detach",
            "",
            "",
            Kind.COMMAND_LINE_ONLY,
            OptionGroup.OTHER,
            "Start the job in the background, print its run id and end. 'jrun attach RUN_ID' shows the console of "
                    + "the job, 'jrun cancel RUN_ID' stops the job, 'jrun ps' lists the jobs."),
    DRY_RUN(
            "--dry-run",
            "",
            "",
            Kind.OWN,
            OptionGroup.OTHER,
            "Print which rank runs where (rank, node, local rank, device, command) and start nothing.");

    private static final Pattern CHOICES = Pattern.compile("[a-z0-9][a-z0-9-]*(\\|[a-z0-9][a-z0-9-]*)+");

    /** The tool from which an option comes, and the sources that may set the option. */
    private enum Kind {
        TORCHRUN,
        OWN,
        OWN_LIST,
        PYXIS,
        PYXIS_LIST,
        COMMAND_LINE_ONLY
    }

    @SuppressWarnings("ImmutableEnumChecker") // made by List.of
    private final List<String> names;

    private final String parameter;
    private final String defaultText;
    private final Kind kind;
    private final OptionGroup group;
    private final String description;

    LaunchOption(String names, String parameter, String defaultText, Kind kind, OptionGroup group, String description) {
        this.names = List.of(names.split(" "));
        this.parameter = parameter;
        this.defaultText = defaultText;
        this.kind = kind;
        this.group = group;
        this.description = description;
    }

    @Override
    public List<String> names() {
        return names;
    }

    @Override
    public String parameter() {
        return parameter;
    }

    /** The description of the option, with its default. */
    @Override
    public String description() {
        return description + (defaultText.isEmpty() ? "" : " Default: " + defaultText + ".");
    }

    /** Whether several occurrences add up. Otherwise the last occurrence counts. */
    boolean isList() {
        return kind == Kind.OWN_LIST || kind == Kind.PYXIS_LIST;
    }

    /** The accepted words, such as {@code core|numa|none}; empty if the option accepts other values too. */
    List<String> choices() {
        return CHOICES.matcher(parameter).matches() ? List.of(parameter.split("\\|")) : List.of();
    }

    OptionGroup group() {
        return group;
    }

    /** Whether a job file may set the option. */
    boolean isAllowedInFile() {
        return kind != Kind.COMMAND_LINE_ONLY;
    }

    /** The environment variable of jrun that sets the default. */
    Optional<String> jrunVariable() {
        return kind == Kind.COMMAND_LINE_ONLY ? Optional.empty() : Optional.of(variable("JRUN_", longName()));
    }

    /** The environment variable of torchrun that sets the default. */
    Optional<String> torchVariable() {
        return kind == Kind.TORCHRUN ? Optional.of(variable("PET_", names.getLast())) : Optional.empty();
    }

    /** The environment variable of Pyxis that sets the default. */
    Optional<String> pyxisVariable() {
        boolean known = kind == Kind.PYXIS || kind == Kind.PYXIS_LIST;
        return known && !longName().startsWith("--no-")
                ? Optional.of(variable("PYXIS_", longName()))
                : Optional.empty();
    }

    /** A further variable of torchrun that sets the default, without the prefix of the others. */
    Optional<String> elasticVariable() {
        return switch (this) {
            case SIGNALS_TO_HANDLE -> Optional.of("TORCHELASTIC_SIGNALS_TO_HANDLE");
            case LOG_LINE_PREFIX_TEMPLATE -> Optional.of("TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE");
            case SHUTDOWN_TIMEOUT -> Optional.of("TORCH_ELASTIC_SHUTDOWN_TIMEOUT");
            default -> Optional.empty();
        };
    }

    /** Whether the option is one of torchrun. torchrun accepts the beginning of a name. */
    boolean isOfTorchrun() {
        return kind == Kind.TORCHRUN;
    }

    private static String variable(String prefix, String name) {
        return prefix + name.substring(2).replace('-', '_').toUpperCase(Locale.ROOT);
    }
}
