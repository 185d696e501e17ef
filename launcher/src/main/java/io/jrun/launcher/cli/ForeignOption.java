package io.jrun.launcher.cli;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * Options of other launchers, and the corresponding options of jrun. jrun refuses the foreign options with an error
 * that names the corresponding option.
 *
 * <p>In an advice, {@code {N}} stands for the given value, or for the letter N without a value.
 */
enum ForeignOption implements CommandLineOption {
    TOTAL_RANKS(
            "--num-proc --num-processes --num-tasks",
            "the number of all ranks in accelerate and Horovod",
            "use -n {N}"),
    RANKS_PER_NODE(
            "--ntasks-per-node --tasks-per-node --npernode -npernode --ranks-per-node --procs-per-node --slots-per-host"
                    + " --ppn -ppn",
            "the number of ranks on each node in srun and mpirun",
            "use --nproc-per-node={N}"),
    RANKS_PER_NODE_BY_GPU(
            "--num-gpus --num-accelerators",
            "the number of ranks on each node in DeepSpeed",
            "use --nproc-per-node={N}"),
    NODES_OR_RANKS_PER_NODE(
            "-N",
            "the number of nodes in srun, of ranks on each node in mpirun",
            "use --nnodes={N} or --nproc-per-node={N}"),
    NODES("--nodes --num-nodes --num-machines", "the number of nodes in srun and DeepSpeed", "use --nnodes={N}"),
    NODE_RANGE(
            "--min-np --max-np --min-num-proc --max-num-proc --min-elastic-nodes --max-elastic-nodes",
            "the limits of an elastic job in Horovod and DeepSpeed",
            "use --nnodes=MIN:MAX, which counts nodes"),
    NODE_NUMBER("--machine-rank --nodeid", "the number of this node", "use --node-rank={N}"),
    HOST_LIST("-H --host -w -host -hosts", "the hosts in mpirun and srun", "use --hosts={HOSTS}"),
    HOST_FILE(
            "-hostfile --machinefile -machinefile --nodefile -F",
            "the file of hosts in mpirun, Horovod and srun",
            "use --hostfile={PATH}"),
    DISCOVERY(
            "--host-discovery-script",
            "Horovod's source of hosts",
            "name all hosts with --hosts and the fewest with --nnodes=MIN:MAX"),
    SETS_OR_EXCLUDES(
            "-x",
            "an environment variable in mpirun, the hosts to leave out in srun",
            "use --env={NAME=VALUE} or --exclude=HOSTS"),
    INCLUDED("-i", "the hosts and GPUs to use in DeepSpeed", "use --include={HOSTS}"),
    EXCLUDED(
            "-e",
            "the hosts to leave out in DeepSpeed, the error file in srun",
            "use --exclude=HOSTS or --log-dir=DIR"),
    EXPORTED(
            "--export --set-env --genv -genv",
            "the variables that srun and mpirun hand on",
            "workers have jrun's environment; add variables with --env=NAME=VALUE"),
    TIME_LIMIT("--time --time-limit --walltime", "Slurm's time limit in minutes", "use --timeout={TIME}"),
    CPUS(
            "-c --cpus-per-task --cpus-per-proc --cpus-per-rank",
            "the CPUs of each task in srun",
            "leave it out: the workers of a node share its cores equally, and --bind-to=core pins them;"
                    + " 'jrun submit --cpus-per-task={N}' asks Slurm for CPUs"),
    GPUS(
            "--gres --gpus -G --gpus-per-node --gpus-per-task --gpu-ids",
            "the GPUs that a job requests from Slurm",
            "use --nproc-per-node=gpu for a worker on each GPU; 'jrun submit --gpus-per-node=N' asks Slurm for GPUs"),
    BOUND(
            "--cpu-bind --mem-bind --binding-args --bind-cores-to-rank --thread-affinity",
            "the binding to cores and memory in srun and Horovod",
            "use --bind-to=core or --bind-to=numa"),
    CORE_LIST(
            "--bind-core-list",
            "the cores of this node in DeepSpeed",
            "use 'taskset -c {LIST} jrun --bind-to=core ...', which binds the workers of this node to these cores"),
    GPU_BOUND(
            "--gpu-bind",
            "the binding of tasks to GPUs in srun",
            "leave it out: each worker gets a GPU of its own, and --gpu-visibility=all shows all of them"),
    HARDWARE_THREADS(
            "--hint --threads-per-core --cores-per-socket --sockets-per-node --core-spec --thread-spec --ntasks-per-core"
                    + " --ntasks-per-socket -B --extra-node-info -S",
            "the use of hardware threads and sockets in srun",
            "use --bind-to=core or --bind-to=numa; --nproc-per-node=N sets the workers of a node"),
    RANKS_PER_GPU(
            "--ntasks-per-gpu",
            "the number of ranks on each GPU in srun",
            "use --nproc-per-node=gpu for one worker on each GPU, or --nproc-per-node with GPUs times {N}"),
    PROGRAMS(
            "--multi-prog",
            "the file with a program for each rank in srun",
            "write one PROGRAM that chooses by RANK: sh -c 'case $RANK in 0) ...;; *) ...;; esac'"),
    SENT_FILES(
            "--bcast -Z --no-allocate --send-libs",
            "srun's copy of the program to the nodes",
            "leave it out: hosts that lack the files get them from jrun"),
    TERMINAL(
            "--pty",
            "the terminal of the tasks in srun",
            "leave it out: workers have no terminal; for a shell use 'srun --pty bash' without jrun"),
    AROUND(
            "--prolog --epilog --task-prolog --task-epilog",
            "the programs before and after the tasks in srun",
            "write one script that calls them, and give it as PROGRAM"),
    LIMITS(
            "--propagate",
            "the limits of the tasks in srun",
            "leave it out: workers have the limits of jrun or its agent"),
    INPUT("--input", "the tasks that read the standard input in srun", "use --stdin={RANK}"),
    SHARED_STEP(
            "--overlap --exact --overlap-step --het-group --pack-group --relative",
            "the choice of an allocation's resources for a step in srun",
            "leave it out: jrun uses the whole allocation; --include=HOSTS chooses among its nodes"),
    OTHER_JOB(
            "--jobid",
            "the running job of srun",
            "run jrun in the batch script or the salloc of that job, or under 'srun --jobid={ID} --overlap -n1'"),
    CHARGED("-A", "the account in srun and sbatch", "use 'jrun submit --account={NAME}'"),
    FEATURES("-C", "the features of nodes in srun and sbatch", "use 'jrun submit --constraint={LIST}'"),
    ORDER("--rank-by --distribution", "the order of ranks in mpirun and srun", "use --map-by=slot or --map-by=node"),
    OVERSUBSCRIBED(
            "--oversubscribe --nooversubscribe --overcommit -O -s --use-hwthread-cpus",
            "the use of cores by several ranks or jobs in mpirun and srun",
            "leave it out: jrun starts as many workers as --nproc-per-node says"),
    AS_ROOT("--allow-run-as-root", "mpirun's", "leave it out: jrun runs as root too"),
    MCA(
            "--mca -mca --gmca --prefix --mpi --mpi-args",
            "a setting of MPI",
            "leave it out: jrun's runtime does not use MPI"),
    SHOWN_MAP(
            "--report-bindings --display-map --display-allocation --display --donotlaunch",
            "mpirun's view of the ranks",
            "use --dry-run"),
    TAGGED(
            "--tag-output --timestamp-output -l --label -u --unbuffered",
            "the form of the output in mpirun and srun",
            "leave it out: each line carries its rank and host, and files go to --log-dir"),
    VERBOSITY(
            "-v --verbose -q --quiet -Q",
            "the amount of messages in other launchers",
            "leave it out; --dry-run shows the ranks, -V the version"),
    OUTPUT_FILES(
            "-o --output --error --output-filename --enable-each-rank-log",
            "the output files in srun, Horovod and DeepSpeed",
            "use --log-dir={DIR}, which gets a folder for each rank"),
    WORKING_FOLDER("-D --chdir --wdir -wdir --wd -wd", "the working folder in mpirun and srun", "use --workdir={DIR}"),
    JOB_NAME("-J --job-name", "the name of a Slurm job", "use --run-id={NAME}"),
    STOPS_ALL(
            "-K --kill-on-bad-exit -W --wait -k --no-kill",
            "what srun does after a failure",
            "leave it out: the first failure stops the job, and --nnodes=MIN:MAX outlives lost hosts"),
    SCRIPT(
            "--use-env",
            "how torch.distributed.launch names the local rank",
            "leave it out: workers have the variable LOCAL_RANK"),
    LINE_FILTERS(
            "--duplicate-stdout-filters --duplicate-stderr-filters",
            "files of the matching lines in torchrun",
            "leave it out: search the files of --log-dir with grep"),
    MAIN_ADDRESS("--main-process-ip", "the address of node 0 in accelerate", "use --master-addr={HOST}"),
    MAIN_PORT("--main-process-port", "the port of node 0 in accelerate", "use --master-port={PORT}"),
    TRAINING(
            "--mixed-precision --multi-gpu --use-fsdp --use-deepspeed --use-megatron-lm --dynamo-backend"
                    + " --gradient-accumulation-steps --gradient-clipping --zero-stage --cpu",
            "a setting of the training in accelerate",
            "give it to the program; train.jar has --precision, --shard, --zero, --deepspeed, --accumulate, --clip and"
                    + " --device"),
    THREADS("--num-cpu-threads-per-process", "the threads of each rank in accelerate", "use --env=OMP_NUM_THREADS={N}"),
    SSH(
            "--ssh-port --ssh-identity-file --launcher-args",
            "settings of ssh in Horovod and DeepSpeed",
            "use --ssh-options='-p PORT -i KEY'"),
    PARTITION(
            "-p",
            "the partition in srun, the port of ssh in Horovod",
            "use 'jrun submit --partition={NAME}' or --ssh-options='-p {PORT}'"),
    STARTER("--launcher --gloo --jsrun", "how Horovod and DeepSpeed start ranks", "use --launch=ssh or --launch=slurm"),
    CONFIG("--config-file --config", "the file of options in Horovod and accelerate", "use --file={PATH}"),
    CONTAINER("--container", "Slurm's folder of an OCI bundle", "use --container-image={PATH} with its rootfs folder");

    @SuppressWarnings("ImmutableEnumChecker") // made by List.of
    private final List<String> names;

    private final String meaning;
    private final String advice;

    ForeignOption(String names, String meaning, String advice) {
        this.names = List.of(names.split(" "));
        this.meaning = meaning;
        this.advice = advice;
    }

    /** The entry for {@code name}, with dashes in place of underscores. */
    static Optional<ForeignOption> of(String name) {
        return Arrays.stream(values())
                .filter(option -> option.names.contains(name))
                .findFirst();
    }

    @Override
    public List<String> names() {
        return names;
    }

    @Override
    public String parameter() {
        return "VALUE"; // a few options have no label; their hints do not name the value
    }

    /** The meaning of the option in other launchers. */
    @Override
    public String description() {
        return meaning;
    }

    /** The advice for jrun. */
    String advice() {
        return advice;
    }
}
