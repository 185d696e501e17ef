package io.jrun.launcher.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.agent.container.ContainerMount;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.ImageReference;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.Program;
import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ContainerOptionsTest {
    private static final String IMAGE = "--container-image=/i.sqsh";

    @TempDir
    private Path folder;

    private Requests requests;

    @BeforeEach
    void makeFiles() throws IOException {
        requests = new Requests(folder);
    }

    private static ContainerSpec container(JobSpec job) {
        return job.workers().container().orElseThrow();
    }

    @Test
    void relativePathsAreOfTheCurrentFolder() {
        ContainerSpec spec =
                container(requests.job("--container-image=a.sqsh", "--container-mounts=./d:/d,../e:/e:ro"));

        assertThat(spec.image()).contains(new ImageReference.Local(folder + "/a.sqsh"));
        assertThat(spec.mounts())
                .extracting(ContainerMount::source)
                .containsExactly(folder + "/d", folder.getParent() + "/e");
    }

    @Test
    void mountsAddUp() {
        assertThat(container(requests.job(IMAGE, "--container-mounts=/a,/b", "--container-mounts=/c"))
                        .mounts())
                .hasSize(3);
    }

    @Test
    void pyxisVariablesCountAndTheCommandLineIsStronger() {
        requests.with("PYXIS_CONTAINER_IMAGE", "/p.sqsh")
                .with("PYXIS_CONTAINER_MOUNT_HOME", "y")
                .with("PYXIS_CONTAINER_READONLY", "1");

        assertThat(container(requests.job()).mountHome()).isTrue();
        assertThat(container(requests.job("--no-container-mount-home")).mountHome())
                .isFalse();
        assertThat(container(requests.job("--container-writable")).writable()).isTrue();
        assertThat(container(requests.job("--container-image=/i.sqsh")).image())
                .contains(new ImageReference.Local("/i.sqsh"));
    }

    /** As Pyxis reads its variables: an option and its opposite are one value. */
    @ParameterizedTest
    @CsvSource({
        "PYXIS_CONTAINER_WRITABLE=0, '', false",
        "PYXIS_CONTAINER_WRITABLE=no, '', false",
        "JRUN_CONTAINER_WRITABLE=false, '', false",
        "PYXIS_CONTAINER_WRITABLE=1, '', true",
        "PYXIS_CONTAINER_WRITABLE=yes, '', true",
        "PYXIS_CONTAINER_READONLY=0, '', true",
        "PYXIS_CONTAINER_READONLY=true, '', false",
        "PYXIS_CONTAINER_WRITABLE=1, --container-readonly, false",
        "PYXIS_CONTAINER_WRITABLE=0, --container-writable, true",
        "PYXIS_CONTAINER_READONLY=0, --container-readonly, false",
    })
    void aVariableMayTurnTheRootReadOnly(String variable, String option, boolean writable) {
        String[] parts = variable.split("=", 2);
        requests.with(parts[0], parts[1]);

        assertThat(container(option.isEmpty() ? requests.job(IMAGE) : requests.job(IMAGE, option))
                        .writable())
                .isEqualTo(writable);
    }

    @ParameterizedTest
    @CsvSource({
        "MOUNT_HOME, 1, '', true", "MOUNT_HOME, 0, '', false", "MOUNT_HOME, yes, --no-container-mount-home, false",
        "REMAP_ROOT, 1, '', true", "REMAP_ROOT, 0, '', false", "REMAP_ROOT, 0, --container-remap-root, true",
        "ENTRYPOINT, true, '', true", "ENTRYPOINT, no, '', false", "ENTRYPOINT, 0, --container-entrypoint, true",
        "ENTRYPOINT_LOG, 1, '', true", "ENTRYPOINT_LOG, 0, '', false",
    })
    void otherVariablesOfPyxisAreSwitchesToo(String name, String value, String option, boolean on) {
        requests.with("PYXIS_CONTAINER_" + name, value);
        ContainerSpec spec = container(option.isEmpty() ? requests.job(IMAGE) : requests.job(IMAGE, option));

        assertThat(
                        switch (name) {
                            case "MOUNT_HOME" -> spec.mountHome();
                            case "REMAP_ROOT" -> spec.remapRoot();
                            case "ENTRYPOINT" -> spec.entrypoint();
                            default -> spec.entrypointLog();
                        })
                .isEqualTo(on);
    }

    @ParameterizedTest
    @CsvSource({
        "JRUN_CONTAINER_IMGE, JRUN_CONTAINER_IMAGE",
        "PYXIS_CONTAINER_MOUNT, PYXIS_CONTAINER_MOUNTS",
        "JRUN_CONTANER_IMAGE, JRUN_CONTAINER_IMAGE",
        "PYXIS_NO_CONTAINER_ENTRYPOINT, JRUN_NO_CONTAINER_ENTRYPOINT",
        "PYXIS_CONTAINER_RUNTIME, JRUN_CONTAINER_RUNTIME",
    })
    void aMisspeltVariableIsRefused(String misspelt, String meant) {
        requests.with(misspelt, "/p");

        assertThatThrownBy(() -> requests.job())
                .isInstanceOf(UsageException.class)
                .hasMessage("no option has the environment variable '" + misspelt + "'; did you mean '" + meant + "'?");
    }

    @Test
    void otherVariablesOfPyxisAndJrunAreAllowed() {
        requests.with("PYXIS_ROOT", "/opt/pyxis").with("JRUN_TIMEOUT_SECONDS", "9");

        assertThat(requests.job().workers().container()).isEmpty();
        assertThatThrownBy(
                        () -> requests.with("PYXIS_CONTAINER_OF_TOMORROW", "1").job())
                .hasMessageContaining("'PYXIS_CONTAINER_OF_TOMORROW'");
    }

    @Test
    void unknownVariablesOfPyxisAreNoted() {
        Map<String, String> environment = new HashMap<>(Map.of(
                "PYXIS_ROOT", "/opt/pyxis",
                "PYXIS_MOUNTS", "/data",
                "PYXIS_EMPTY", "",
                "PYXIS_CONTAINER_IMAGE", "/p.sqsh",
                "PYXIS_RUNTIME_PATH", "/run/pyxis",
                "PYXIS_VERSION", "0.24.0"));
        assertThat(ContainerVariables.note(environment))
                .contains("no option has the environment variable PYXIS_MOUNTS, PYXIS_ROOT; jrun ignores what neither"
                        + " Pyxis nor jrun reads. Containers have PYXIS_CONTAINER_*.");
        environment.put("JRUN_AGENT_SOCKET", "/tmp/s");
        assertThat(ContainerVariables.note(environment)).isEmpty();
        environment.keySet().removeAll(Set.of("PYXIS_ROOT", "PYXIS_MOUNTS", "JRUN_AGENT_SOCKET"));
        assertThat(ContainerVariables.note(environment)).isEmpty();
    }

    @Test
    void aWorkerThatStartsJrunIsInItsContainerAlready() {
        requests.with("JRUN_CONTAINER_IMAGE", "/p.sqsh")
                .with("JRUN_CONTAINER_IMGE", "/p.sqsh")
                .with("JRUN_AGENT_SOCKET", "/tmp/s");

        assertThat(requests.job().workers().container()).isEmpty();
        assertThat(requests.job(IMAGE).workers().container()).isPresent();
    }

    @Test
    void programsMayBeInTheImage() {
        assertThat(requests.run(IMAGE, "python3", "x.py").program().path()).isEqualTo("python3");
        assertThat(requests.run(IMAGE, "/opt/run").program().path()).isEqualTo("/opt/run");
        Program.JavaProgram jar =
                (Program.JavaProgram) requests.run(IMAGE, "/opt/app/a.jar").program();
        assertThat(jar.classPath()).containsExactly("/opt/app/a.jar");
        assertThat(jar.mainClass()).isEmpty();
        assertThatThrownBy(() -> requests.run(IMAGE, "./none")).isInstanceOf(UsageException.class);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "--container-mounts=/a | --container-mounts is for jobs in containers. Add --container-image or --container-name",
                "--container-image=A | 'A' is not an image",
                "--container-image=train.jar | write ./train.jar for the file or folder, or docker://train.jar for the image.",
                "--container-image=/i --container-mounts=/a:b | the path inside the container must begin with /.",
                "--container-image=/i --container-unshare=user | the namespaces are net, ipc, uts and pid.",
                "--container-image=/i --container-unshare=net --hosts=a,b --launch=ssh | cannot reach other nodes.",
                "--container-image=/i --container-save=/tmp/ | '/tmp/' is a folder; name a file, such as /tmp/saved.sqsh.",
                "--container-image=/i --container-save=/tmp | '/tmp' is a folder",
                "--container-image=/i --container-save=./ | './' is a folder",
                "--container-image=/i --container-save=/ | '/' is a folder",
                "--container-image=/i --container-java=my | auto, image or host",
                "--container-image=/i --container-name=a/b | is not a name of a container",
                "--container-image=/i --container-writable --container-readonly | contradict each other.",
                "--container-image=/i --container-runtime=docker | auto, builtin, enroot, podman or apptainer",
                "--container-image=/i --container-runtime=podman --container-mounts=umount:/sys | use --container-runtime=builtin",
            })
    void refusals(String options, String words) {
        assertThatThrownBy(() -> requests.job(options.split(" ")))
                .isInstanceOf(UsageException.class)
                .hasMessageContaining(words);
    }
}
