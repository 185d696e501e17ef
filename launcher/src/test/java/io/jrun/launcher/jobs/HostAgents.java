package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.image.FolderDeletion;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;

/** Standing agents of the hosts of one testbed, for several tests, with folders and a secret of their own. */
final class HostAgents implements AutoCloseable {
    /** As many start at once as there are hosts, on a machine that may be busy. */
    private static final Duration TIMEOUT = Duration.ofMinutes(3);

    private final TestHosts hosts;
    private final Path folder;
    private final Map<String, Running> agents = new TreeMap<>();

    HostAgents(TestHosts hosts, Path folder) {
        this.hosts = hosts;
        this.folder = folder;
        Archives.linkInto(cache());
    }

    /** The secret that the agents and a launcher share. */
    Path secret() {
        return folder.resolve("secret");
    }

    /** The folder in which the workers unpack native libraries. */
    Path cache() {
        return folder.resolve("cache");
    }

    /** The hosts that have one. */
    Set<String> names() {
        return agents.keySet();
    }

    Running on(String host) {
        return Objects.requireNonNull(agents.get(host));
    }

    /** Has an agent run on each of these hosts, the one that is there or a new one. */
    void start(Iterable<String> names) {
        for (String host : names) {
            if (!agents.containsKey(host) || !on(host).process().isAlive()) {
                agents.put(host, startOn(host));
            }
        }
        for (String host : names) {
            JRun.waitFor(
                    () -> on(host).out().contains("jrun agent: listening on 0.0.0.0:29600\n"),
                    TIMEOUT,
                    () -> "the agent of " + host);
        }
    }

    /** Ends the agent of a host, if there is one. */
    void stop(String host) {
        Running agent = agents.remove(host);
        if (agent != null && agent.process().isAlive()) {
            agent.signal("TERM");
            agent.await();
        }
    }

    private Running startOn(String host) {
        Path home = folder.resolve(host + "-" + System.nanoTime());
        assertThat(home.toFile().mkdirs()).isTrue();
        return new JRun(home)
                .with("XDG_CACHE_HOME", cache().toString())
                .startUnder(hosts.on(host), "agent", "--secret-file=" + secret(), "--listen=0.0.0.0");
    }

    /** The host loses its power. The method removes the temporary files, because no process of the host is left. */
    void powerOff(String host) {
        hosts.killAll(host);
        Running agent = on(host);
        agent.await();
        String prefix = "jrun-" + agent.process().pid() + "-";
        try (DirectoryStream<Path> folders =
                Files.newDirectoryStream(Path.of(System.getProperty("java.io.tmpdir")), prefix + "*")) {
            for (Path each : folders) {
                FolderDeletion.delete(each);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Ends them all. */
    @Override
    public void close() {
        agents.values().forEach(agent -> {
            if (agent.process().isAlive()) {
                agent.signal("TERM");
            }
            agent.await();
        });
        agents.clear();
    }
}
