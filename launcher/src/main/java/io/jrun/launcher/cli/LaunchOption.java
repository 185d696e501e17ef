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
            "the hosts named",
            Kind.TORCHRUN,
            OptionGroup.JOB,
            "Number of nodes: 1; with --hosts or --hostfile the number of hosts named there, with --rdzv-endpoint of jruns that"
                    + " meet. MIN:MAX: the job begins, and goes"
                    + " on after a restart, with as many of them as there are, at least MIN; those beyond MAX stand by."),
    SPARES(
            "--spares",
            "K",
            "0",
            Kind.OWN,
            OptionGroup.JOB,
            "So many of the hosts named, the last ones, stand by; one that fails is replaced by the next restart, in its place."),
    JOIN_TIMEOUT(
            "--join-timeout",
            "TIME",
            "60",
            Kind.OWN,
            OptionGroup.JOB,
            "How long nodes are waited for, at the start and when too many were lost. If there are MIN, 30 s more for the rest."),
    NODE_COOLDOWN(
            "--node-cooldown",
            "TIME",
            "30",
            Kind.OWN,
            OptionGroup.JOB,
            "With MIN:MAX or spares: how long a host that was lost is not called again."),
    NPROC_PER_NODE(
            "--nproc-per-node",
            "N|auto|cpu|gpu",
            "1",
            Kind.TORCHRUN,
            OptionGroup.JOB,
            "Workers on each node: a number, gpu (one for each GPU), cpu (one for each usable core), or auto (GPUs if"
                    + " there are any, else cores)."),
    STANDALONE(
            "--standalone",
            "",
            "",
            Kind.TORCHRUN,
            OptionGroup.JOB,
            "One node, no rendezvous with others. That is what jrun does anyway; refused together with more nodes."),
    NODE_RANK(
            "--node-rank",
            "N",
            "any that is free",
            Kind.TORCHRUN,
            OptionGroup.MEETING,
            "This node's place in the order of nodes. Node 0 hosts the job, except with --rdzv-backend=c10d."),
    RDZV_ENDPOINT(
            "--rdzv-endpoint",
            "HOST:PORT",
            "",
            Kind.TORCHRUN,
            OptionGroup.MEETING,
            "Where the jruns of all nodes meet, started in any order: the one on that host hosts the job, each shows its own"
                    + " workers' output and ends with the job's exit code. They share --secret-file. Default port: 29400."),
    RDZV_ID(
            "--rdzv-id",
            "ID",
            "made of the command line",
            Kind.TORCHRUN,
            OptionGroup.MEETING,
            "The job's name, the same on all nodes; also its --run-id."),
    RDZV_CONF(
            "--rdzv-conf",
            "K=V,...",
            "",
            Kind.TORCHRUN,
            OptionGroup.MEETING,
            "join_timeout (600 s; timeout is the same), last_call_timeout (30 s, for more than MIN nodes), is_host; torchrun's"
                    + " others are accepted and mean nothing here."),
    RDZV_BACKEND(
            "--rdzv-backend",
            "NAME",
            "jrun",
            Kind.TORCHRUN,
            OptionGroup.MEETING,
            "c10d, static or jrun: all mean jrun's own."),
    MASTER_ADDR(
            "--master-addr",
            "HOST",
            "",
            Kind.TORCHRUN,
            OptionGroup.MEETING,
            "With --master-port (29500) what --rdzv-endpoint is, as torchrun's static rendezvous has it."),
    LOCAL_ADDR(
            "--local-addr",
            "ADDRESS",
            "found out",
            Kind.TORCHRUN,
            OptionGroup.MEETING,
            "Address at which the workers of this node are reached by the others."),
    LAUNCH(
            "--launch",
            "auto|local|hosts|ssh|slurm",
            "auto",
            Kind.OWN,
            OptionGroup.HOSTS,
            "How jrun comes to an agent on each host: local (this machine, no other), hosts (they stand there, 'jrun agent'),"
                    + " ssh or slurm (it starts them for this job, with ssh, or srun in a Slurm allocation). auto: in an allocation"
                    + " slurm, except with --rdzv-endpoint or --standalone; where hosts are named, those that stand there if there is a secret file, else (or with --ssh-options) ssh."),
    HOSTS(
            "--hosts --nodelist",
            "HOSTS",
            "",
            Kind.OWN,
            OptionGroup.HOSTS,
            "Run on these hosts, in this order: h1:8,h2:4 or gpu[01-04,07]:8, Slurm's host list grammar with the number of"
                    + " workers after a colon (--nproc-per-node where there is none). jrun must be there under the same path; hosts"
                    + " that lack the program or its jars get them from here."),
    HOSTFILE(
            "--hostfile",
            "PATH",
            "",
            Kind.OWN,
            OptionGroup.HOSTS,
            "The same from a file, a host on each line: 'node1 slots=8', 'node1:8' or 'node1'; # begins a remark."),
    INCLUDE(
            "--include",
            "HOSTS",
            "all",
            Kind.OWN,
            OptionGroup.HOSTS,
            "Of the hosts named, or of the Slurm allocation, use only these: h1,h[3-4]; with numbers after a colon only"
                    + " these of a host's GPUs, a worker for each: h1:0,2 or h1:0-3. '@' may part hosts, as in DeepSpeed."),
    EXCLUDE(
            "--exclude",
            "HOSTS",
            "none",
            Kind.OWN,
            OptionGroup.HOSTS,
            "Do not use these hosts, or these of their GPUs; same form."),
    MAP_BY(
            "--map-by",
            "slot|node|ppr:N",
            "slot",
            Kind.OWN,
            OptionGroup.HOSTS,
            "Order of ranks: slot fills host after host, node deals one rank to each host in turn; ppr:N puts N workers on"
                    + " each host, whatever number it has otherwise."),
    BIND_TO(
            "--bind-to",
            "core|numa|none",
            "none",
            Kind.OWN,
            OptionGroup.PROGRAM,
            "Bind each worker to its equal part of the node's usable cores, or to a NUMA domain. --dry-run shows to"
                    + " which."),
    AGENT_PORT(
            "--agent-port",
            "PORT",
            "29600",
            Kind.OWN,
            OptionGroup.HOSTS,
            "Port of standing agents, the same on all hosts."),
    SECRET_FILE(
            "--secret-file",
            "PATH",
            "~/.config/jrun/secret",
            Kind.OWN,
            OptionGroup.HOSTS,
            "The file that standing agents were given as --secret-file. Who has its content, and nobody else, may use them."),
    SSH_OPTIONS(
            "--ssh-options",
            "OPTIONS",
            "",
            Kind.OWN,
            OptionGroup.HOSTS,
            "More options for ssh, as '-p 2222 -i KEY'; ~/.ssh/config counts too."),
    REMOTE_JRUN(
            "--remote-jrun",
            "PATH",
            "this jrun's path, or jrun on the PATH",
            Kind.OWN,
            OptionGroup.HOSTS,
            "The jrun command on hosts that ssh reaches."),
    RUN_ID(
            "--run-id",
            "ID",
            "generated",
            Kind.OWN,
            OptionGroup.JOB,
            "Name of this job: letters, digits, dot, dash and underscore. Names its log folder."),
    MAX_RESTARTS(
            "--max-restarts",
            "N",
            "0",
            Kind.TORCHRUN,
            OptionGroup.JOB,
            "How often all workers are started again after a failure: one counter for the whole job. Exit code 65 of a worker says"
                    + " that it would be in vain."),
    RESTART_WINDOW(
            "--restart-window",
            "TIME",
            "the whole job",
            Kind.OWN,
            OptionGroup.JOB,
            "--max-restarts counts the restarts of the last TIME only."),
    TIMEOUT(
            "--timeout",
            "TIME",
            "none",
            Kind.OWN,
            OptionGroup.JOB,
            "End the job after this time with exit code 124. Seconds, or with a unit: 90s, 10m, 2h."),
    FILE(
            "-f --file",
            "PATH",
            "",
            Kind.COMMAND_LINE_ONLY,
            OptionGroup.JOB,
            "Read options from a YAML or JSON job file: long option names as keys, also program and args. The command"
                    + " line wins over it; a PROGRAM on it replaces both program and args."),
    JAVA(
            "--java",
            "PATH",
            "jrun's own JDK",
            Kind.OWN,
            OptionGroup.PROGRAM,
            "JDK (or its bin/java) that runs the workers."),
    MAIN_CLASS(
            "--main-class",
            "NAME",
            "from the jar",
            Kind.OWN,
            OptionGroup.PROGRAM,
            "Class to run instead of the jar's Main-Class. PROGRAM may then be a folder of classes too."),
    CLASSPATH(
            "--classpath",
            "PATHS",
            "",
            Kind.OWN_LIST,
            OptionGroup.PROGRAM,
            "More jars and folders for the workers, after PROGRAM. Separated by ':'; repeatable."),
    JVM_OPTS(
            "--jvm-opts",
            "OPTIONS",
            "",
            Kind.OWN_LIST,
            OptionGroup.PROGRAM,
            "JVM options of the workers, split like a shell does; they win over jrun's defaults. Repeatable."),
    BACKEND(
            "--backend",
            "NAME",
            "jrun",
            Kind.OWN,
            OptionGroup.PROGRAM,
            "What moves the data of process groups: jrun (shared memory and TCP), gloo (libtorch's, over TCP) or nccl (GPUs)."
                    + " mpi is for ranks that mpirun starts, see 'jrun bench' and docs/operations.md."),
    ENCRYPT(
            "--encrypt",
            "",
            "",
            Kind.OWN,
            OptionGroup.PROGRAM,
            "Encrypt what the workers send each other over TCP (TLS 1.3, bound to the job's secret). Shared memory needs"
                    + " none; gloo and nccl cannot, and are refused. What it costs: docs/security.md."),
    ENV(
            "--env",
            "NAME=VALUE",
            "",
            Kind.OWN_LIST,
            OptionGroup.PROGRAM,
            "Environment variable for the workers. Repeatable; those of a job file or of JRUN_ENV (words, quoted as for a"
                    + " shell) are added to them."),
    WORKDIR("--workdir", "DIR", "here", Kind.OWN, OptionGroup.PROGRAM, "Working directory of the workers."),
    STAGE(
            "--stage",
            "PATH",
            "",
            Kind.OWN_LIST,
            OptionGroup.PROGRAM,
            "A file or folder below the working directory that workers need besides the program and its class path; hosts that"
                    + " lack any of these get them from here, see docs/operations.md. Repeatable."),
    NO_JAVA(
            "--no-java --no-python",
            "",
            "",
            Kind.TORCHRUN,
            OptionGroup.PROGRAM,
            "PROGRAM is an executable even if it looks like a jar."),
    GPU_VISIBILITY(
            "--gpu-visibility",
            "one|all",
            "one for jars, all otherwise",
            Kind.OWN,
            OptionGroup.PROGRAM,
            "GPUs a worker sees: its own one, or all of the node (scripts that call set_device(LOCAL_RANK))."),
    VIRTUAL_LOCAL_RANK(
            "--virtual-local-rank",
            "",
            "",
            Kind.TORCHRUN,
            OptionGroup.PROGRAM,
            "Give every worker LOCAL_RANK=0 and only its own GPU."),
    ROLE("--role", "NAME", "default", Kind.TORCHRUN, OptionGroup.PROGRAM, "Role name, ROLE_NAME of the workers."),
    MASTER_PORT(
            "--master-port",
            "PORT",
            "a free one",
            Kind.TORCHRUN,
            OptionGroup.PROGRAM,
            "MASTER_PORT of the workers, for programs with a rendezvous of their own; reserved for the job."),
    LOG_DIR(
            "--log-dir",
            "DIR",
            "~/.local/state/jrun/logs",
            Kind.TORCHRUN,
            OptionGroup.OUTPUT,
            "Log files go to DIR/RUN_ID/attempt-N/rank-NNNN. The default follows XDG_STATE_HOME."),
    REDIRECTS(
            "-r --redirects",
            "STREAMS",
            "0",
            Kind.TORCHRUN,
            OptionGroup.OUTPUT,
            "Streams that go to files only: 0 none, 1 stdout, 2 stderr, 3 both; or by local rank, as 0:3,11:1."),
    TEE(
            "-t --tee",
            "STREAMS",
            "0",
            Kind.TORCHRUN,
            OptionGroup.OUTPUT,
            "Streams that go to the console too where --redirects says otherwise; same form."),
    LOCAL_RANKS_FILTER(
            "--local-ranks-filter",
            "RANKS",
            "all",
            Kind.TORCHRUN,
            OptionGroup.OUTPUT,
            "Local ranks shown on the console, as 0,2-5. Files are written for all."),
    RANKS_FILTER(
            "--ranks-filter",
            "RANKS",
            "all",
            Kind.OWN,
            OptionGroup.OUTPUT,
            "Global ranks shown on the console, as 0,2-5. Files are written for all."),
    JSON(
            "--json",
            "",
            "",
            Kind.OWN,
            OptionGroup.OUTPUT,
            "Print the result (or the rank map of --dry-run) as one JSON object on stdout; workers' stdout then goes to"
                    + " stderr."),
    SHUTDOWN_TIMEOUT(
            "--shutdown-timeout",
            "TIME",
            "30",
            Kind.TORCHRUN,
            OptionGroup.STOPPING,
            "Grace period between asking workers to stop and SIGKILL, the same for every reason to stop."),
    WORKER_TIMEOUT(
            "--worker-timeout",
            "TIME",
            "300",
            Kind.OWN,
            OptionGroup.STOPPING,
            "A worker that gives no sign of life for so long counts as hung (exit code 75): one that is stopped, or whose JVM"
                    + " hangs in a pause. Only of programs that use jrun's runtime. 0: never."),
    PROGRESS_TIMEOUT(
            "--progress-timeout",
            "TIME",
            "0",
            Kind.OWN,
            OptionGroup.STOPPING,
            "So does one that begins no collective or message for so long and is in none. 0: never."),
    SIGNALS_TO_HANDLE(
            "--signals-to-handle",
            "NAMES",
            "SIGTERM,SIGINT,SIGHUP,SIGUSR1,SIGUSR2",
            Kind.TORCHRUN,
            OptionGroup.STOPPING,
            "Signals jrun forwards: TERM, INT and HUP stop the job, USR1 and USR2 ask for a checkpoint. Others of these"
                    + " five are ignored."),
    MONITOR_INTERVAL(
            "--monitor-interval",
            "SECONDS",
            "0.1",
            Kind.TORCHRUN,
            OptionGroup.STOPPING,
            "Accepted for torchrun's sake: jrun sees a worker's exit at once and polls nothing."),
    DETACH(
            "--detach",
            "",
            "",
            Kind.COMMAND_LINE_ONLY,
            OptionGroup.OTHER,
            "Start the job, print its run id and end: the job goes on by itself. 'jrun attach RUN_ID' shows its console,"
                    + " 'jrun cancel RUN_ID' stops it, 'jrun ps' lists all."),
    DRY_RUN(
            "--dry-run",
            "",
            "",
            Kind.OWN,
            OptionGroup.OTHER,
            "Print the rank map (rank, node, local rank, device, command) and start nothing.");

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

    /** The default in words, empty if there is none. */
    String defaultText() {
        return defaultText;
    }

    OptionGroup group() {
        return group;
    }

    String description() {
        return description;
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
