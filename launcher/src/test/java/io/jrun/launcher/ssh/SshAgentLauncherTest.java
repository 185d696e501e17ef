package io.jrun.launcher.ssh;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.LauncherAddress;
import io.jrun.launcher.registration.AgentLauncher.LaunchCommand;
import io.jrun.launcher.registration.AgentLauncher.LaunchExit;
import io.jrun.launcher.registration.JoinToken;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SshAgentLauncherTest {
    private final SshAgentLauncher ssh =
            new SshAgentLauncher(List.of("-p", "2222"), "/opt/my jrun", "/opt/home", Map.of("h9", "me"));
    private final JoinToken token =
            new JoinToken(List.of(new LauncherAddress("10.0.0.1", 7), new LauncherAddress("fd00::1", 7)), "the secret");

    @Test
    void eachHostHasOneSsh() {
        List<LaunchCommand> starts = ssh.plan(List.of("h1", "h2"), List.of(0, 1), token);
        assertThat(starts).extracting(LaunchCommand::name).containsExactly("h1", "h2");
        assertThat(starts).extracting(LaunchCommand::nodes).containsExactly(List.of(0), List.of(1));
        List<String> command = starts.get(1).command();
        assertThat(command).startsWith("setsid", "ssh", "-p", "2222").contains("BatchMode=yes", "--", "h2");
        assertThat(command.getLast())
                .contains("'/opt/my jrun'")
                .endsWith(" agent '--launcher=10.0.0.1:7,[fd00::1]:7' --node=1");
        assertThat(String.join(" ", command)).doesNotContain("the secret");
    }

    @Test
    void userOfTheListIsForSshAlone() {
        LaunchCommand start = ssh.plan(List.of("h9"), List.of(0), token).getFirst();
        assertThat(start.name()).isEqualTo("h9");
        assertThat(start.command()).containsSubsequence("--", "me@h9");
        assertThat(ssh.explain(start, new LaunchExit(255, List.of("me@h9: Permission denied (publickey)."))))
                .contains("'ssh me@h9 true' must work");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            255 | root@h1: Permission denied (publickey).           | 'ssh h1 true' must work without a question
            255 | Host key verification failed.                     | run 'ssh h1' once by hand
            255 | Host key for h1 has changed and you are strict.  | 'ssh-keygen -R h1' forgets the old key
            255 | ssh: Could not resolve hostname h1: not known      | check the name
            255 | ssh: connect to host h1 port 22: No route to host | check that the host is up and runs sshd
            127 | /opt/jrun is no program there                     | or give its path as --remote-jrun
            2   | jrun: no JDK 25 or newer found                    | no JDK 25 or newer found
            """)
    void failuresAreExplained(int exitCode, String line, String advice) {
        LaunchCommand start = new LaunchCommand("h1", List.of(0), List.of("ssh"));
        assertThat(ssh.explain(start, new LaunchExit(exitCode, List.of(line)))).contains(advice);
    }
}
