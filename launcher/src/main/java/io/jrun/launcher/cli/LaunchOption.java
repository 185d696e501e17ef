package io.jrun.launcher.cli;

import java.util.List;
import java.util.Locale;
import java.util.Optional;

/**
 * Every launch option, once: the command line, job files, environment defaults, help and shell completion are all made
 * from this table, so that none of them can lack an option the others have.
 */
public enum LaunchOption {
    NNODES(
            "--nnodes",
            "N|MIN:MAX",
            "the number of named hosts, or 1",
            Kind.TORCHRUN,
            OptionGroup.JOB,
            "Number of nodes. With MIN:MAX the job starts, and continues after a restart, with as many nodes as "
                    + "there are: at least MIN, at most MAX. Further nodes stand by."),
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
            "How long jrun waits for nodes, at the start and after a loss of nodes. Once MIN nodes are there, "
                    + "jrun waits 30 s more for the rest."),
    NODE_COOLDOWN(
            "--node-cooldown",
            "TIME",
            "30 s",
            Kind.OWN,
            OptionGroup.JOB,
            "With --nnodes=MIN:MAX or --spares: how long jrun waits before it calls a lost host again."),
    NPROC_PER_NODE(
            "--nproc-per-node",
            "N|auto|cpu|gpu",
            "1",
            Kind.TORCHRUN,
            OptionGroup.JOB,
            "Workers on each node: a number, gpu (one for each GPU), cpu (one for each usable core), or auto "
                    + "(gpu where there are GPUs, else cpu)."),
    STANDALONE(
            "--standalone",
            "",
            "",
            Kind.TORCHRUN,
            OptionGroup.JOB,
            "Run on this machine alone, also inside a Slurm allocation."),
    NODE_RANK(
            "--node-rank",
            "N",
            "the next free one",
            Kind.TORCHRUN,
            OptionGroup.MEETING,
            "Number of this node, from 0. Node 0 hosts the job, unless --rdzv-backend=c10d is given."),
    RDZV_ENDPOINT(
            "--rdzv-endpoint",
            "HOST:PORT",
            "",
            Kind.TORCHRUN,
            OptionGroup.MEETING,
            "Address at which the jrun processes of all nodes meet. Start the same command on every node, in any "
                    + "order. The jrun on HOST hosts the job. Each jrun shows the output of its own workers and ends with "
                    + "the exit code of the job. All nodes need the same --secret-file. Default port: 29400."),
    RDZV_ID(
            "--rdzv-id",
            "ID",
            "made from the command line",
            Kind.TORCHRUN,
            OptionGroup.MEETING,
            "Name of the job, the same on all nodes. Also its --run-id."),
    RDZV_CONF(
            "--rdzv-conf",
            "K=V,...",
            "",
            Kind.TORCHRUN,
            OptionGroup.MEETING,
            "Settings of the meeting: join_timeout or timeout (600 s), last_call_timeout (30 s, how long to wait "
                    + "for more than MIN nodes), is_host. Other settings of torchrun are accepted and ignored."),
    RDZV_BACKEND(
            "--rdzv-backend",
            "c10d|static|jrun",
            "jrun",
            Kind.TORCHRUN,
            OptionGroup.MEETING,
            "All three names mean jrun's own rendezvous. c10d: the endpoint's host hosts the job, whatever "
                    + "--node-rank says."),
    MASTER_ADDR(
            "--master-addr",
            "HOST",
            "",
            Kind.TORCHRUN,
            OptionGroup.MEETING,
            "torchrun's static rendezvous: the same as --rdzv-endpoint=HOST:PORT, where PORT is --master-port "
                    + "(29500)."),
    LOCAL_ADDR(
            "--local-addr",
            "ADDRESS",
            "found by jrun",
            Kind.TORCHRUN,
            OptionGroup.MEETING,
            "Address at which the other nodes reach the workers of this node."),
    LAUNCH(
            "--launch",
            "auto|local|hosts|ssh|slurm",
            "auto",
            Kind.OWN,
            OptionGroup.HOSTS,
            "How jrun reaches an agent on each host. local: this machine only. hosts: agents run there already "
                    + "('jrun agent'). ssh: jrun starts them over ssh. slurm: jrun starts them with srun in a Slurm "
                    + "allocation. auto: slurm in an allocation, unless --rdzv-endpoint or --standalone is given; for "
                    + "named hosts, hosts if there is a secret file, else ssh. --ssh-options means ssh."),
    HOSTS(
            "--hosts --nodelist",
            "HOSTS",
            "",
            Kind.OWN,
            OptionGroup.HOSTS,
            "Hosts to run on, in this order: h1:8,h2:4 or gpu[01-04,07]:8 (the grammar of Slurm). The number "
                    + "after the colon is the number of workers; --nproc-per-node is used where it is missing. jrun must "
                    + "be installed under the same path. Hosts that lack the program or its jars get them from here."),
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
            "Use only these of the named hosts or of the Slurm allocation: h1,h[3-4]. Numbers after a colon "
                    + "choose GPUs of a host, with one worker for each: h1:0,2 or h1:0-3. Hosts may also be separated by "
                    + "@, as in DeepSpeed."),
    EXCLUDE(
            "--exclude",
            "HOSTS",
            "none",
            Kind.OWN,
            OptionGroup.HOSTS,
            "Leave out these hosts, or these GPUs of a host. Same form as --include."),
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
            "core|numa|none",
            "none",
            Kind.OWN,
            OptionGroup.PROGRAM,
            "Bind each worker to CPUs. core: an equal part of the node's usable cores. numa: a NUMA domain. "
                    + "--dry-run shows the CPUs."),
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
            "Secret that jrun and the standing agents share. Everyone who can read the file can run programs on "
                    + "the agents' hosts."),
    SSH_OPTIONS(
            "--ssh-options",
            "OPTIONS",
            "",
            Kind.OWN,
            OptionGroup.HOSTS,
            "More options for ssh, as '-p 2222 -i KEY'. ssh reads ~/.ssh/config too."),
    REMOTE_JRUN(
            "--remote-jrun",
            "PATH",
            "the path of this jrun, or jrun on the PATH",
            Kind.OWN,
            OptionGroup.HOSTS,
            "Path of jrun on hosts that ssh reaches."),
    RUN_ID(
            "--run-id",
            "ID",
            "generated",
            Kind.OWN,
            OptionGroup.JOB,
            "Name of the job and of its log folder: up to 64 letters, digits, dots, dashes and underscores."),
    MAX_RESTARTS(
            "--max-restarts",
            "N",
            "0",
            Kind.TORCHRUN,
            OptionGroup.JOB,
            "How often jrun starts all workers again after a failure: one counter for the whole job. A worker "
                    + "that exits with 65 is not started again."),
    RESTART_WINDOW(
            "--restart-window",
            "TIME",
            "the whole job",
            Kind.OWN,
            OptionGroup.JOB,
            "Count only the restarts of the last TIME for --max-restarts."),
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
            "Read options from a YAML or JSON job file: long option names as keys, and program and args. The "
                    + "command line overrides the file. A PROGRAM on the command line replaces both program and args. - means stdin."),
    JAVA(
            "--java",
            "PATH",
            "jrun's own JDK",
            Kind.OWN,
            OptionGroup.PROGRAM,
            "JDK, or its bin/java, that runs the workers. Java 25 or newer."),
    MAIN_CLASS(
            "--main-class",
            "NAME",
            "from the jar",
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
            "More jars and folders for the workers, after PROGRAM, separated by colons. Repeatable."),
    JVM_OPTS(
            "--jvm-opts",
            "OPTIONS",
            "",
            Kind.OWN_LIST,
            OptionGroup.PROGRAM,
            "JVM options of the workers, split as a shell does. They override jrun's own. Repeatable."),
    BACKEND(
            "--backend",
            "jrun|gloo|nccl",
            "jrun",
            Kind.OWN,
            OptionGroup.PROGRAM,
            "Library that moves the data of process groups: jrun (shared memory and TCP), gloo (of libtorch, "
                    + "TCP) or nccl (GPUs)."),
    ENCRYPT(
            "--encrypt",
            "",
            "",
            Kind.OWN,
            OptionGroup.PROGRAM,
            "Encrypt the TCP connections between workers with TLS 1.3. Not for gloo and nccl. docs/security.md "
                    + "has the cost."),
    ENV(
            "--env",
            "NAME=VALUE",
            "",
            Kind.OWN_LIST,
            OptionGroup.PROGRAM,
            "Environment variable of the workers. Repeatable. Variables of the job file and of JRUN_ENV (words, "
                    + "quoted as for a shell) are added."),
    WORKDIR("--workdir", "DIR", "the current folder", Kind.OWN, OptionGroup.PROGRAM, "Working folder of the workers."),
    STAGE(
            "--stage",
            "PATH",
            "",
            Kind.OWN_LIST,
            OptionGroup.PROGRAM,
            "File or folder below the working folder that workers need besides the program and its class path. "
                    + "Hosts that lack it get it from here (docs/operations.md). Repeatable."),
    NO_JAVA(
            "--no-java --no-python",
            "",
            "",
            Kind.TORCHRUN,
            OptionGroup.PROGRAM,
            "Run PROGRAM as an executable, even if it looks like a jar."),
    GPU_VISIBILITY(
            "--gpu-visibility",
            "one|all",
            "one for jars, all for other programs",
            Kind.OWN,
            OptionGroup.PROGRAM,
            "GPUs that a worker sees: its own one, or all GPUs of the node, for programs that call "
                    + "set_device(LOCAL_RANK)."),
    VIRTUAL_LOCAL_RANK(
            "--virtual-local-rank",
            "",
            "",
            Kind.TORCHRUN,
            OptionGroup.PROGRAM,
            "Give every worker LOCAL_RANK=0 and only its own GPU."),
    ROLE("--role", "NAME", "default", Kind.TORCHRUN, OptionGroup.PROGRAM, "Role of the workers, their ROLE_NAME."),
    MASTER_PORT(
            "--master-port",
            "PORT",
            "a free one",
            Kind.TORCHRUN,
            OptionGroup.PROGRAM,
            "MASTER_PORT of the workers, for programs with a rendezvous of their own. jrun reserves the port for "
                    + "the job."),
    LOG_DIR(
            "--log-dir",
            "DIR",
            "~/.local/state/jrun/logs",
            Kind.TORCHRUN,
            OptionGroup.OUTPUT,
            "Folder of log files, which are in DIR/RUN_ID/attempt-N/rank-NNNN. The default follows "
                    + "XDG_STATE_HOME."),
    REDIRECTS(
            "-r --redirects",
            "STREAMS",
            "0",
            Kind.TORCHRUN,
            OptionGroup.OUTPUT,
            "Streams that go to files only. 0: none, 1: stdout, 2: stderr, 3: both; or by local rank: 0:3,11:1."),
    TEE(
            "-t --tee",
            "STREAMS",
            "0",
            Kind.TORCHRUN,
            OptionGroup.OUTPUT,
            "Streams that go to the console too, in spite of --redirects. Same form."),
    LOCAL_RANKS_FILTER(
            "--local-ranks-filter",
            "RANKS",
            "all",
            Kind.TORCHRUN,
            OptionGroup.OUTPUT,
            "Local ranks whose output the console shows: 0,2-5. All ranks have files."),
    RANKS_FILTER(
            "--ranks-filter",
            "RANKS",
            "all",
            Kind.OWN,
            OptionGroup.OUTPUT,
            "Global ranks whose output the console shows: 0,2-5. All ranks have files."),
    JSON(
            "--json",
            "",
            "",
            Kind.OWN,
            OptionGroup.OUTPUT,
            "Print the result, or the rank map of --dry-run, as one JSON object on stdout. The workers' stdout "
                    + "then goes to stderr."),
    SHUTDOWN_TIMEOUT(
            "--shutdown-timeout",
            "TIME",
            "30 s",
            Kind.TORCHRUN,
            OptionGroup.STOPPING,
            "Time between the request to stop and SIGKILL, for every reason to stop."),
    WORKER_TIMEOUT(
            "--worker-timeout",
            "TIME",
            "300 s",
            Kind.OWN,
            OptionGroup.STOPPING,
            "A worker without a sign of life for this time counts as hung (exit code 75): a stopped process, or "
                    + "a JVM that stands in a pause. Only for programs that use jrun's runtime. 0: never."),
    PROGRESS_TIMEOUT(
            "--progress-timeout",
            "TIME",
            "0",
            Kind.OWN,
            OptionGroup.STOPPING,
            "A worker that begins no collective and no message for this time, and is in none, counts as hung "
                    + "(exit code 75). 0: never."),
    SIGNALS_TO_HANDLE(
            "--signals-to-handle",
            "NAMES",
            "SIGTERM,SIGINT,SIGHUP,SIGUSR1,SIGUSR2",
            Kind.TORCHRUN,
            OptionGroup.STOPPING,
            "Signals that jrun handles. TERM, INT and HUP stop the job; USR1 and USR2 ask the workers for a "
                    + "checkpoint. Those of the five that are not listed are ignored. torchrun's QUIT "
                    + "is accepted and has no effect."),
    MONITOR_INTERVAL(
            "--monitor-interval",
            "SECONDS",
            "0.1 s",
            Kind.TORCHRUN,
            OptionGroup.STOPPING,
            "Accepted for torchrun's command lines and ignored: jrun sees the exit of a worker at once."),
    DETACH(
            "--detach",
            "",
            "",
            Kind.COMMAND_LINE_ONLY,
            OptionGroup.OTHER,
            "Start the job in the background, print its run id and end. 'jrun attach RUN_ID' shows its console, "
                    + "'jrun cancel RUN_ID' stops it, 'jrun ps' lists jobs."),
    DRY_RUN(
            "--dry-run",
            "",
            "",
            Kind.OWN,
            OptionGroup.OTHER,
            "Print which rank runs where (rank, node, local rank, device, command) and start nothing.");

    /** Where an option may come from. */
    private enum Kind {
        TORCHRUN,
        OWN,
        OWN_LIST,
        COMMAND_LINE_ONLY
    }

    private final String spacedNames;
    private final String parameter;
    private final String defaultText;
    private final Kind kind;
    private final OptionGroup group;
    private final String description;

    LaunchOption(String names, String parameter, String defaultText, Kind kind, OptionGroup group, String description) {
        this.spacedNames = names;
        this.parameter = parameter;
        this.defaultText = defaultText;
        this.kind = kind;
        this.group = group;
        this.description = description;
    }

    /** The long name with its dashes, as messages show it. */
    public String longName() {
        return names().stream()
                .filter(name -> name.startsWith("--"))
                .findFirst()
                .orElseThrow();
    }

    /** The key in a job file: the long name without dashes in front. */
    String key() {
        return longName().substring(2);
    }

    /** All names: short, long, and torchrun's where it differs. */
    List<String> names() {
        return List.of(spacedNames.split(" "));
    }

    /** What the value is called, empty for a switch. */
    String parameter() {
        return parameter;
    }

    /** Whether it takes no value. */
    boolean isSwitch() {
        return parameter.isEmpty();
    }

    /** Whether several occurrences add up; else the last one counts. */
    boolean isList() {
        return kind == Kind.OWN_LIST;
    }

    OptionGroup group() {
        return group;
    }

    /** What it does, and what holds without it: a help page's text. */
    String descriptionAndDefault() {
        return description + (defaultText.isEmpty() ? "" : " Default: " + defaultText + ".");
    }

    /** Whether a job file may set it. */
    boolean isAllowedInFile() {
        return kind != Kind.COMMAND_LINE_ONLY;
    }

    /** The environment variable of jrun that sets its default. */
    Optional<String> jrunVariable() {
        return kind == Kind.COMMAND_LINE_ONLY ? Optional.empty() : Optional.of(variable("JRUN_", longName()));
    }

    /** The environment variable of torchrun that sets its default. */
    Optional<String> torchVariable() {
        return kind == Kind.TORCHRUN ? Optional.of(variable("PET_", names().getLast())) : Optional.empty();
    }

    private static String variable(String prefix, String name) {
        return prefix + name.substring(2).replace('-', '_').toUpperCase(Locale.ROOT);
    }
}
