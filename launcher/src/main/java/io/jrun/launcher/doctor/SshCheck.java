package io.jrun.launcher.doctor;

import io.jrun.launcher.ssh.SshAgentLauncher;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Whether ssh logs in to each host without a question, so that {@code --launch ssh} could start agents there. */
public final class SshCheck implements Check {
    private static final int AT_A_TIME = 32;
    private static final long LIMIT_SECONDS = 20;

    private final List<String> hosts;
    private final SshAgentLauncher ssh;

    /** A check of the way that {@code ssh} would take to each of {@code hosts}. */
    public SshCheck(List<String> hosts, SshAgentLauncher ssh) {
        this.hosts = List.copyOf(hosts);
        this.ssh = ssh;
    }

    /** What starts agents on other hosts, where none are named. */
    static List<CheckResult> here(Map<String, String> environment) throws IOException, InterruptedException {
        if (CommandResult.find("ssh", environment).isEmpty()) {
            return List.of(CheckResult.absent("ssh", "no 'ssh' on the PATH"));
        }
        return List.of(CheckResult.ok(
                "ssh", CommandResult.of(List.of("ssh", "-V"), LIMIT_SECONDS).lastLine()));
    }

    @Override
    public List<CheckResult> look() throws IOException, InterruptedException {
        if (CommandResult.find("ssh", System.getenv()).isEmpty()) {
            return List.of();
        }
        try (ExecutorService threads = Executors.newFixedThreadPool(Math.min(AT_A_TIME, hosts.size()))) {
            List<Callable<CheckResult>> logins = new ArrayList<>();
            hosts.forEach(host -> logins.add(() -> login(host).on(host)));
            List<CheckResult> found = new ArrayList<>();
            for (Future<CheckResult> login : threads.invokeAll(logins)) {
                found.add(login.get());
            }
            return found;
        } catch (ExecutionException e) {
            throw new IOException(e.getCause());
        }
    }

    /** The agents stand, so jobs need no ssh. */
    private CheckResult login(String host) throws IOException, InterruptedException {
        CommandResult answer = CommandResult.of(ssh.login(host), LIMIT_SECONDS);
        return answer.isWell()
                ? CheckResult.ok("ssh", "logs in without a question")
                : CheckResult.absent("ssh", ssh.explainLogin(host, answer.exitCode(), answer.lastLine()));
    }
}
