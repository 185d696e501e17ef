package io.jrun.launcher.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.RendezvousSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The result of command line, job file and environment together. */
class LayersTest {
    @TempDir
    private Path folder;

    private Requests requests;

    @BeforeEach
    void makeFiles() throws IOException {
        requests = new Requests(folder);
    }

    @Test
    void workerVariablesOfAllLayersAddUpAndTheStrongestWins() throws IOException {
        Files.writeString(folder.resolve("job.yaml"), "env: {A: file, B: file, C: file}");
        requests.with("JRUN_ENV", "C=variable 'D=a b'");
        JobSpec job = requests.job("--file=job.yaml", "--env=A=first", "--env=A=last", "--env=E=");
        assertThat(job.workers().environment())
                .isEqualTo(Map.of("A", "last", "B", "file", "C", "file", "D", "a b", "E", ""));
    }

    @Test
    void aVariableWithoutAValueIsPassedOn() {
        requests.with("TOKEN", "a=b");
        requests.with("JRUN_ENV", "TOKEN=other");
        assertThat(requests.job("--env=TOKEN").workers().environment()).isEqualTo(Map.of("TOKEN", "a=b"));
    }

    @Test
    void aMeetingWithoutAnIdIsNamedByItsCommandLineAndItsSlurmJob() {
        String byHand = unnamed("a");
        assertThat(unnamed("a")).isEqualTo(byHand).startsWith(RendezvousSettings.UNNAMED);
        assertThat(unnamed("b")).isNotEqualTo(byHand);
        requests.with("SLURM_JOB_ID", "7");
        String inSeven = unnamed("a");
        assertThat(inSeven).isNotEqualTo(byHand);
        requests.with("SLURM_JOB_ID", "8");
        assertThat(unnamed("a")).isNotEqualTo(inSeven);
        requests.with("SLURM_HET_JOB_ID", "7"); // of a heterogeneous job, each component has its own SLURM_JOB_ID
        assertThat(unnamed("a")).isEqualTo(inSeven);
    }

    private String unnamed(String argument) {
        return requests.run("--nnodes=2", "--rdzv-endpoint=h1:29400", "train.jar", argument)
                .rendezvous()
                .orElseThrow()
                .job();
    }

    @Test
    void otherListsOfTheCommandLineReplaceTheFiles() throws IOException {
        Files.writeString(folder.resolve("job.yaml"), "jvm-opts: [-Xmx1g]");
        assertThat(requests.job("--file=job.yaml", "--jvm-opts=-Xss1m")
                        .program()
                        .shortCommand())
                .contains("-Xss1m")
                .doesNotContain("-Xmx1g");
    }

    @Test
    void wordsOfAFileOrOptionAreNotTornAtBlanks() throws IOException {
        Files.writeString(folder.resolve("job_JRUN_X.yaml"), "env: {A: x y=z}");
        assertThat(requests.job("--file=job_JRUN_X.yaml", "--env", "B=p q=r")
                        .workers()
                        .environment())
                .isEqualTo(Map.of("A", "x y=z", "B", "p q=r"));
    }

    @Test
    void badPairNamesItsLayer() {
        requests.with("JRUN_ENV", "A=1 B");
        assertThatThrownBy(() -> requests.job("--env=C=1"))
                .hasMessage("--env=B: jrun's environment has no variable B; give --env=B=VALUE.");
    }

    @Test
    void argumentsWithoutAProgramAreRefused() throws IOException {
        Files.writeString(folder.resolve("job.yaml"), "args: [a]");
        assertThatThrownBy(() -> requests.job("--file=job.yaml"))
                .hasMessageStartingWith("job.yaml: key 'args' goes with 'program'");
    }
}
