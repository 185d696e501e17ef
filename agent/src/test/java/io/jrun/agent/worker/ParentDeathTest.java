package io.jrun.agent.worker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ParentDeathTest {
    @TempDir
    private Path folder;

    private Map<String, String> with(String program, String content) throws IOException {
        Path file = Files.writeString(folder.resolve(program), content);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
        return Map.of("PATH", folder.toString(), "SLURM_JOB_ID", "7");
    }

    @Test
    void programsOfThisMachineAreNewEnough() throws IOException {
        assertThat(ParentDeath.find(Map.of("SLURM_JOB_ID", "7")).wrap(List.of("true"), 7))
                .contains("--rttime=7")
                .containsSequence("--ignore-signal=USR1,USR2")
                .containsSequence("--pdeathsig", "KILL", "true");
    }

    @Test
    void programsThatAreTooOldAreNamedWithTheVersionThatIsNeeded() throws IOException {
        Map<String, String> setpriv = with("setpriv", "\177ELF --no-new-privs");
        assertThatThrownBy(() -> ParentDeath.find(setpriv))
                .hasMessage("jrun starts every worker through 'setpriv --pdeathsig', which " + folder
                        + "/setpriv does not know; install util-linux 2.33 or newer");
        Map<String, String> env = with("env", "\177ELF --chdir");
        assertThatThrownBy(() -> ParentDeath.find(env))
                .hasMessage("jrun starts every worker through 'env --ignore-signal', which " + folder
                        + "/env does not know; install coreutils 8.31 or newer");
    }

    @Test
    void missingToolsAreReportedWithTheFoundTools() throws IOException, InterruptedException {
        StartTools.Found here = StartTools.find(Map.of());
        assertThat(here.versions()).matches("util-linux \\d[0-9.]+, coreutils \\d[0-9.]+");
        assertThat(here.missing()).isEmpty();
        Map<String, String> old = Map.of("PATH", with("env", "\177ELF --chdir").get("PATH"));
        assertThat(StartTools.find(old).missing())
                .as("Slurm's jobs need it")
                .endsWith("install coreutils 8.31 or newer");
    }

    @Test
    void aScriptInFrontOfAProgramIsBelieved() throws IOException {
        Map<String, String> script = with("setpriv", "#!/bin/sh\nexec /opt/bin/setpriv \"$@\"\n");
        assertThat(ParentDeath.find(script).wrap(List.of(), 7))
                .contains(folder.resolve("setpriv").toString());
    }
}
