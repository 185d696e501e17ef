package io.jrun.launcher.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Command lines of mpirun, srun, torchrun and others get the right hint, or run. */
class ForeignOptionTest {
    @TempDir
    private Path folder;

    private Requests requests;

    @BeforeEach
    void makeFiles() throws IOException {
        requests = new Requests(folder);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
        --num_processes=4            | use -n 4.
        --num-proc 4                 | use -n 4.
        --num_cpu_threads_per_process 4 | use --env=OMP_NUM_THREADS=4.
        --mixed_precision bf16       | give it to the program; train.jar has --precision, --shard, --zero, --deepspeed, --accumulate, --clip and --device.
        --ntasks-per-node=8          | use --nproc-per-node=8.
        -npernode 8                  | use --nproc-per-node=8.
        --num_gpus=8                 | use --nproc-per-node=8.
        -N2                          | use --nnodes=2 or --nproc-per-node=2.
        --num_nodes=2                | use --nnodes=2.
        -N1-4                        | use --nnodes=1:4.
        -N 2-4                       | use --nnodes=2:4.
        --nodes=1-4                  | use --nnodes=1:4.
        --pty                        | leave it out: workers have no terminal; for a shell use 'srun --pty bash' without jrun.
        --input=3                    | use --stdin=3.
        --overlap                    | leave it out: jrun uses the whole allocation; --include=HOSTS chooses among its nodes.
        --het-group=0,1              | leave it out: jrun uses the whole allocation; --include=HOSTS chooses among its nodes.
        --gpu-bind=closest           | leave it out: each worker gets a GPU of its own, and --gpu-visibility=all shows all of them.
        --mem-bind=local             | use --bind-to=core or --bind-to=numa.
        --hint=nomultithread         | use --bind-to=core or --bind-to=numa; --nproc-per-node=N sets the workers of a node.
        --threads-per-core 1         | use --bind-to=core or --bind-to=numa; --nproc-per-node=N sets the workers of a node.
        --cores-per-socket=8         | use --bind-to=core or --bind-to=numa; --nproc-per-node=N sets the workers of a node.
        --task-prolog=setup.sh       | write one script that calls them, and give it as PROGRAM.
        --propagate=STACK            | leave it out: workers have the limits of jrun or its agent.
        -s                           | leave it out: jrun starts as many workers as --nproc-per-node says.
        --ntasks-per-gpu=2           | use --nproc-per-node=gpu for one worker on each GPU, or --nproc-per-node with GPUs times 2.
        --multi-prog                 | write one PROGRAM that chooses by RANK: sh -c 'case $RANK in 0) ...;; *) ...;; esac'.
        --bcast=/tmp/train           | leave it out: hosts that lack the files get them from jrun.
        --jobid=4711                 | run jrun in the batch script or the salloc of that job, or under 'srun --jobid=4711 --overlap -n1'.
        -A physics                   | use 'jrun submit --account=physics'.
        -C h100                      | use 'jrun submit --constraint=h100'.
        -c 8                         | leave it out: the workers of a node share its cores equally, and --bind-to=core pins them; 'jrun submit --cpus-per-task=8' asks Slurm for CPUs.
        --cpus-per-task=8            | leave it out: the workers of a node share its cores equally, and --bind-to=core pins them; 'jrun submit --cpus-per-task=8' asks Slurm for CPUs.
        -w gpu[1-2]                  | use --hosts=gpu[1-2].
        -H a:2,b:2                   | use --hosts=a:2,b:2.
        --host a,b                   | use --hosts=a,b.
        -hostfile h.txt              | use --hostfile=h.txt.
        --machinefile=h.txt          | use --hostfile=h.txt.
        --time=10                    | use --timeout=10m.
        --time 1:00:00               | use --timeout=1h.
        --time=1-12                  | use --timeout=36h.
        --time=0:30                  | use --timeout=30s.
        --time=soon                  | use --timeout=TIME.
        --gres=gpu:4                 | use --nproc-per-node=gpu for a worker on each GPU; 'jrun submit --gpus-per-node=N' asks Slurm for GPUs.
        --gpus 4                     | use --nproc-per-node=gpu for a worker on each GPU; 'jrun submit --gpus-per-node=N' asks Slurm for GPUs.
        -x LEVEL=debug               | use --env=LEVEL=debug or --exclude=HOSTS.
        --cpu-bind=cores             | use --bind-to=core or --bind-to=numa.
        --bind_core_list=0-3         | use 'taskset -c 0-3 jrun --bind-to=core ...', which binds the workers of this node to these cores.
        --oversubscribe              | leave it out: jrun starts as many workers as --nproc-per-node says.
        --allow-run-as-root          | leave it out: jrun runs as root too.
        --mca btl tcp                | leave it out: jrun's runtime does not use MPI.
        --report-bindings            | use --dry-run.
        --tag-output                 | leave it out: each line carries its rank and host, and files go to --log-dir.
        --output-filename=out        | use --log-dir=out, which gets a folder for each rank.
        --duplicate-stdout-filters=x | leave it out: search the files of --log-dir with grep.
        --use_env                    | leave it out: workers have the variable LOCAL_RANK.
        --machine_rank=1             | use --node-rank=1.
        --main_process_ip=a          | use --master-addr=a.
        --launcher=slurm             | use --launch=ssh or --launch=slurm.
        --partition=gpu              | give it to 'jrun submit', and leave it out inside an allocation.
        """)
    void hintSaysWhatJrunHasInstead(String line, String hint) {
        assertThatThrownBy(() -> requests.request((line + " train.jar").split(" ")))
                .isInstanceOf(UsageException.class)
                .message()
                .matches("unknown option '[^']+' \\([^)]+\\); .*")
                .endsWith("); " + hint);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "--nproc_per_node=2",
                "--nproc_per_node 2 --max_restarts 1",
                "--nnodes=1 --nproc_per_node=2 --master_port=29501",
                "--nnodes=2 --node_rank=0 --master_addr=localhost --master_port=29501",
                "--rdzv_backend=c10d --rdzv_endpoint=localhost:29401 --nnodes=2",
                "--standalone --nproc_per_node=2 --log_dir=logs --redirects=3 --tee=3",
                "--hosts=a:2,b:2 --map-by=ppr:2:node --bind-to=core",
                "--start-method=spawn --monitor-interval=1 --event-log-handler=null --logs_specs=default",
                "--nnode=1 --nproc=2 --max-rest 1 --redirect=3 --te=3 --rdzv_b=c10d --rdzv-i x --standalon"
            })
    void namesOfTorchrunAndMpirunThatJrunSharesAreTaken(String options) {
        assertThat(requests.job(options.split(" "))).isNotNull();
    }

    @Test
    void noForeignNameIsJrunsOwnOrThereTwice() {
        Set<String> names = new HashSet<>();
        Arrays.stream(LaunchOption.values()).forEach(option -> names.addAll(option.names()));
        for (ForeignOption option : ForeignOption.values()) {
            for (String name : option.names()) {
                assertThat(names.add(name)).as(name).isTrue();
            }
        }
        assertThat(List.of("-h", "--help", "-V", "--version")).noneMatch(names::contains);
    }
}
