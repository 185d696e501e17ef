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

/** Checks whether ssh logs in to each host without a question, as {@code --launch ssh} needs. */
public final class SshCheck implements Check {
    private static final int AT_A_TIME = 32;
    private static final long LIMIT_SECONDS = 20;

    private final List<String> hosts;
    private final SshAgentLauncher ssh;

    /** Checks the login of {@code ssh} to each of {@code hosts}. */
    public SshCheck(List<String> hosts, SshAgentLauncher ssh) {
        this.hosts = List.copyOf(hosts);
        this.ssh = ssh;
    }

    /** Checks the ssh program of this machine, for a doctor without hosts. */
    static List<CheckResult> here(Map<String, String> environment) throws IOException, InterruptedException {
        if (CommandResult.find("ssh", environment).isEmpty()) {
            return List.of(CheckResult.absent("ssh", "no 'ssh' on the PATH"));
        }
        return List.of(CheckResult.ok(
                "ssh", CommandResult.of(List.of("ssh", "-V"), LIMIT_SECONDS).lastLine()));
    }

    @Override
    public List<CheckResult> run() throws IOException, InterruptedException {
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

    /** With standing agents jobs need no ssh, so a failed login is no problem. */
    private CheckResult login(String host) throws IOException, InterruptedException {
        CommandResult answer = CommandResult.of(ssh.login(host), LIMIT_SECONDS);
        return answer.isWell()
                ? CheckResult.ok("ssh", "logs in without a question")
                : CheckResult.absent("ssh", ssh.explainLogin(host, answer.exitCode(), answer.lastLine()));
    }
}
