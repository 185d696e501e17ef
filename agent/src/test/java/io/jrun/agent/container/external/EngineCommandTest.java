package io.jrun.agent.container.external;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.agent.container.ContainerException;
import io.jrun.agent.container.ContainerMount;
import io.jrun.agent.container.ContainerSpec;
import io.jrun.agent.container.EngineChoice;
import io.jrun.agent.container.ImageReference;
import io.jrun.agent.container.NodeRequest;
import io.jrun.agent.container.WorkerRequest;
import io.jrun.agent.container.builtin.RootEntry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The command lines of engines that this project has not run, and of podman. */
class EngineCommandTest {
    private static final ContainerSpec SPEC = ContainerSpec.of(ImageReference.parse("/i.sqsh"));

    private static final WorkerRequest WORKER = new WorkerRequest(
            "w",
            "/work dir",
            Map.of("PATH", "/bin", "HOME", "/home/a", "B", "x,y z", "LINES", "1\n2", "BASH_FUNC_f%%", "() { :; }"),
            Map.of("LD_LIBRARY_PATH", "/l"),
            List.of("python3", "train.py", "--a=b c"));

    @TempDir
    private Path tools;

    private NodeRequest node;

    @BeforeEach
    void makeTools() throws IOException {
        for (String tool : List.of("enroot", "apptainer")) {
            Files.createFile(
                    tools.resolve(tool),
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwxr-xr-x")));
        }
        node = new NodeRequest(Path.of("/s"), Path.of("/n"), List.of(), Map.of("PATH", tools.toString()));
    }

    private List<String> words(RootEntry entry) throws ContainerException {
        return entry.words(new RootEntry.PreparedRoot("/c/root", "/c/w/engine", SPEC), WORKER, node).stream()
                .map(word -> word.replace(tools + "/", "").replaceFirst("^/(usr/)?bin/(env|mount)$", "$2"))
                .toList();
    }

    @Test
    void enroot() throws ContainerException {
        List<String> words = words(new EnrootEntry());
        assertThat(words.subList(0, 2)).containsExactly("/bin/sh", "-c");
        assertThat(words.get(2)).contains("--rbind -- \"$point\" \"$copy\"");
        List<String> expected = new ArrayList<>(List.of(
                "jrun-enroot",
                "mount",
                "/c/root",
                "/c/w/engine",
                "env",
                "PATH=" + tools + ":/usr/bin:/bin:/usr/sbin:/sbin",
                "ENROOT_DATA_PATH=/c",
                "ENROOT_RUNTIME_PATH=/c/w/engine/runtime",
                "ENROOT_LOGIN_SHELL=no",
                "ENROOT_ALLOW_SUPERUSER=yes",
                "enroot",
                "start",
                "--rw",
                "--conf",
                "/c/w/engine/conf"));
        for (String variable : List.of("B=x,y z", "HOME=/home/a", "LD_LIBRARY_PATH=/l", "PATH=/bin")) {
            expected.addAll(List.of("--env", variable));
        }
        expected.addAll(List.of("root", "/bin/sh", "-c"));
        int script = 3 + expected.size();
        assertThat(words.subList(3, script)).isEqualTo(expected);
        assertThat(words.get(script)).contains("export \"$1\"");
        assertThat(words.subList(script + 1, words.size()))
                .containsExactly("jrun", "LINES=1\n2", "--", "/work dir", "python3", "train.py", "--a=b c");
    }

    @Test
    void apptainer() throws ContainerException {
        assertThat(words(new ApptainerEntry()))
                .containsExactly(
                        "env",
                        "PATH=" + tools + ":/usr/bin:/bin:/usr/sbin:/sbin",
                        "APPTAINERENV_LD_LIBRARY_PATH=/l",
                        "APPTAINERENV_PATH=/bin",
                        "apptainer",
                        "--silent",
                        "exec",
                        "--no-home",
                        "--no-mount=bind-paths,devpts,hostfs,tmp,cwd",
                        "--no-umask",
                        "--pwd=/work dir",
                        "--writable",
                        "/c/root",
                        "python3",
                        "train.py",
                        "--a=b c");
    }

    @Test
    void whatAnEngineDoesNotSupportNamesAnEngineThatDoes() {
        ContainerSpec unmounts = SPEC.withMounts(ContainerMount.parseAll("umount:/sys"));

        assertThat(EngineChoice.BUILTIN.unsupported(unmounts)).isEmpty();
        for (EngineChoice engine : List.of(EngineChoice.PODMAN, EngineChoice.ENROOT, EngineChoice.APPTAINER)) {
            assertThat(engine.unsupported(SPEC)).isEmpty();
            assertThat(engine.unsupported(unmounts))
                    .hasValueSatisfying(sentence -> assertThat(sentence)
                            .startsWith("the engine " + engine.word())
                            .contains("--container-runtime=builtin"));
        }
    }

    @Test
    void anEngineThatIsMissingIsNamed() {
        NodeRequest none = new NodeRequest(Path.of("/s"), Path.of("/n"), List.of(), Map.of());

        assertThatThrownBy(() -> new ApptainerEntry().check(none)).hasMessageContaining("'apptainer'");
    }
}
