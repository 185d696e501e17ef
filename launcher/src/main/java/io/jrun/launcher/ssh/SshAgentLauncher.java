package io.jrun.launcher.ssh;

import io.jrun.launcher.registration.AgentLauncher;
import io.jrun.launcher.registration.JoinToken;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Starts agents with one {@code ssh} for each host. Stateless. */
public final class SshAgentLauncher implements AgentLauncher {
    /** ssh asks no questions, because a user cannot answer the questions of many hosts. */
    private static final List<String> OPTIONS =
            List.of("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15", "-o", "LogLevel=ERROR");

    /**
     * A script for the host's sh, in one line because csh allows no line break in quotes. The script runs the jrun with
     * the path of this jrun, which is the same jrun on a shared file system, else the jrun on the PATH. A shell exits
     * with 127 if it does not find a command.
     */
    private static final String SCRIPT = "jrun=$1 home=$2; shift 2; "
            + "if [ -x \"$jrun\" ]; then [ ! -d \"$home/lib/launcher\" ] || export JRUN_HOME=\"$home\"; exec"
            + " \"$jrun\" \"$@\"; fi; "
            + "if command -v jrun > /dev/null; then exec jrun \"$@\"; fi; "
            + "echo \"$jrun is no program there, and there is no jrun on the PATH\" >&2; exit 127";

    private static final int NOT_FOUND = 127;
    private static final int SSH_FAILED = 255;

    private final List<String> options;
    private final String jrun;
    private final String home;
    private final Map<String, String> users;

    /**
     * @param options the user's options for ssh, which override jrun's own
     * @param jrun the path of the jrun command on the hosts
     * @param home the installation of this launcher, used on hosts that have an installation under the same path
     * @param users the user of each host that has one in the list of hosts
     */
    public SshAgentLauncher(List<String> options, String jrun, String home, Map<String, String> users) {
        this.options = List.copyOf(options);
        this.jrun = jrun;
        this.home = home;
        this.users = Map.copyOf(users);
    }

    @Override
    public List<LaunchCommand> plan(List<String> hosts, List<Integer> nodes, JoinToken token) {
        return nodes.stream()
                .map(node -> new LaunchCommand(
                        hosts.get(node), List.of(node), command(hosts.get(node), token.words(JoinToken.node(node)))))
                .toList();
    }

    /**
     * Starts ssh in a session of its own, because Ctrl-C is for jrun only. jrun ends its agents after the grace period
     * of the workers.
     */
    private List<String> command(String host, List<String> words) {
        List<String> command = ssh(host);
        command.add(script(words));
        return command;
    }

    /** The command line for the host's shell that calls jrun with {@code words}. */
    private String script(List<String> words) {
        return Stream.concat(Stream.of("exec", "sh", "-c", SCRIPT, "jrun-ssh", jrun, home), words.stream())
                .map(SshAgentLauncher::quoted)
                .collect(Collectors.joining(" "));
    }

    private List<String> ssh(String host) {
        List<String> command = new ArrayList<>(List.of("setsid", "ssh"));
        command.addAll(options); // of two values for one option, ssh uses the first
        command.addAll(OPTIONS);
        command.addAll(List.of("--", destination(host)));
        return command;
    }

    private String destination(String host) {
        String user = users.getOrDefault(host, "");
        return user.isEmpty() ? host : user + "@" + host;
    }

    /** The command that logs in to {@code host} as for an agent, and logs out again. */
    public List<String> login(String host) {
        List<String> command = ssh(host);
        command.add("true");
        return command;
    }

    /**
     * The command that calls jrun with {@code words} on {@code host}, as an agent is started, with this process's
     * terminal if {@code terminal}. ssh may ask questions.
     */
    public List<String> run(String host, List<String> words, boolean terminal) {
        List<String> command = new ArrayList<>(List.of("ssh"));
        command.addAll(options);
        if (terminal) {
            command.add("-t");
        }
        command.addAll(List.of("--", destination(host)));
        command.add(script(words));
        return command;
    }

    /** Says why a {@link #login} has failed, and what to do. */
    public String explainLogin(String host, int exitCode, String lastLine) {
        return explain(new LaunchCommand(host, List.of(), List.of()), new LaunchExit(exitCode, List.of(lastLine)));
    }

    /** Quotes a word for every login shell: all shells know single quotes. */
    private static String quoted(String word) {
        return word.matches("[A-Za-z0-9_./,:=-]+") ? word : "'" + word.replace("'", "'\\''") + "'";
    }

    @Override
    public String explain(LaunchCommand start, LaunchExit ended) {
        String words = ended.lastLines().stream()
                .map(line -> line.replaceFirst("^(ssh|jrun): ", "").replaceFirst("[.\r]+$", ""))
                .collect(Collectors.joining("; "));
        return switch (ended.exitCode()) {
            case SSH_FAILED -> failure(words, destination(start.name()));
            case NOT_FOUND -> words + "; install jrun there, or give its path as --remote-jrun";
            default ->
                words.isEmpty()
                        ? "its agent ended with exit code " + ended.exitCode()
                                + " and no output, before it had connected to jrun"
                        : words;
        };
    }

    private static String failure(String words, String host) {
        if (words.contains("has changed")) { // ssh prints a page, and these are its last lines
            return "ssh: its host key is not the one in known_hosts; if the host was set up anew, 'ssh-keygen -R "
                    + host.replaceFirst(".*@", "") + "' forgets the old key, else another machine answers in its place";
        }
        return "ssh: " + words + "; " + advice(words, host);
    }

    private static String advice(String words, String host) {
        if (words.contains("Permission denied")) {
            return "'ssh " + host + " true' must work without a question (a key in ~/.ssh or an agent with one)";
        }
        if (words.contains("Host key verification failed")) {
            return "run 'ssh " + host + "' once by hand to see and accept its key";
        }
        if (words.contains("Could not resolve")) {
            return "check the name";
        }
        return "check that the host is up and runs sshd";
    }
}
