package io.jrun.launcher.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.UsageException;
import io.jrun.launcher.job.WorkerCount;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The workers of {@code -n} on the hosts of a job. */
class TotalWorkersTest {
    @TempDir
    private Path folder;

    private Requests requests;

    @BeforeEach
    void makeFiles() throws IOException {
        requests = new Requests(folder);
        Files.writeString(folder.resolve("hosts"), "a slots=2\nb slots=4\n");
        Files.writeString(folder.resolve("secret"), "s");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        -n 4                                           | 4
        -n4                                            | 4
        -np 4                                          | 4
        --np=4                                         | 4
        --ntasks 4                                     | 4
        -n 2 --nproc-per-node=4                        | 2
        -n 3 --hosts=a:2,b:2                           | a:2 b:1
        -n 4 --hosts=a:2,b:2                           | a:2 b:2
        -n 2 --hosts=a:2,b:2                           | a:2
        -n 3 --hosts=a:2,b:2 --map-by=node             | a:2 b:1
        -n 5 --hosts=a:1,b:2,c:9 --map-by=node         | a:1 b:2 c:2
        -n 5 --hosts=a,b                               | a:3 b:2
        -n 1 --hosts=a,b                               | a:1
        -n 5 --hosts=a,b --nproc-per-node=4            | a:4 b:1
        -n 5 --hosts=a:2,b --nproc-per-node=4          | a:2 b:3
        -n 3 --hosts=a,b --map-by=ppr:2                | a:2 b:1
        -n 5 --hostfile=hosts                          | a:2 b:3
        -n 5 --hosts=gpu[1-3] --exclude=gpu2           | gpu1:3 gpu3:2
        -n 3 --hosts=a:4,b:4 --include=a:1,3@b         | a:2 b:1
        """)
    void workersAreDivided(String options, String hosts) {
        String launch = hosts.contains(":") ? " --launch=ssh" : "";
        JobSpec job = requests.job((options + launch).split(" ", -1));
        assertThat(job.cluster()
                        .map(cluster -> cluster.hosts().stream()
                                .map(host -> host.name() + ":" + host.slots().orElseThrow())
                                .collect(Collectors.joining(" ")))
                        .orElseGet(() -> job.placement().perNode().text()))
                .isEqualTo(hosts);
    }

    @Test
    void withOneJrunOnEachNodeTheNodesHaveEqualShares() {
        JobSpec job = requests.job(
                "-n",
                "8",
                "--nnodes=2",
                "--rdzv-endpoint=localhost:29400",
                "--secret-file=secret",
                "--nproc-per-node=4");
        assertThat(job.rendezvous().orElseThrow().workers()).contains(new WorkerCount.Exactly(4));
    }

    @Test
    void slurmGetsTheNumberOfTasks() {
        ParsedCommand line = ParsedCommand.of(List.of("submit", "-n", "8", "train.jar"));
        assertThat(((SubmitRequest.ToSlurm) SubmitRequest.of(line, requests.context()))
                        .script()
                        .text())
                .contains("#SBATCH --ntasks=8\n")
                .contains("--ntasks=8 train.jar\n");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
        -n 5 --hosts=a:2,b:2                | --ntasks: 5 workers are more than the hosts have slots (a:2, b:2). Give the hosts larger numbers, or a smaller --ntasks.
        -n 5 --hosts=a,b --nproc-per-node=2 | --ntasks: 5 workers are more than the hosts have slots (a:2, b:2). Give the hosts larger numbers, or a smaller --ntasks.
        -n 4 --hosts=a,b:2                  | --ntasks: some hosts have a number of workers and some have none (a, b:2). Give all hosts a number, or none.
        -n 9000 --hosts=a,b                 | --ntasks: 9000 workers are more than 4096 on each of 2 hosts.
        -n 2 --hosts=a:2,b:2 --nnodes=2     | --ntasks 2 puts workers on 1 of 2 hosts, but --nnodes is 2. Leave one of the two out.
        -n 4 --hosts=a,b --nnodes=1:2       | --ntasks counts the workers of all nodes, and the nodes of a job with --nnodes=MIN:MAX or --spares change. Give --nproc-per-node.
        -n 4 --nproc-per-node=gpu           | --ntasks and --nproc-per-node gpu both count the workers. Leave one of the two out.
        -n 3 --nnodes=2 --rdzv-endpoint=a:1 | --ntasks: 3 workers cannot be divided equally over 2 nodes, and with one jrun on each node all nodes need the same number. Give a multiple of 2, or --nproc-per-node on each node.
        --ntasks=0                          | --ntasks: '0' is not usable; give a whole number from 1 to 262144.
        """)
    void whatCannotBeDividedIsRefused(String options, String words) {
        assertThatThrownBy(() ->
                        requests.job((options + (options.contains("hosts") ? " --launch=ssh" : "")).split(" +", -1)))
                .isInstanceOf(UsageException.class)
                .hasMessage(words);
    }
}
