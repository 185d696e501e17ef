package io.jrun.launcher;

import io.grpc.ManagedChannel;
import io.grpc.inprocess.InProcessChannelBuilder;
import io.jrun.agent.AgentServer;
import io.jrun.agent.SocketTransport;
import io.jrun.agent.worker.AgentOptions;
import io.jrun.launcher.coordinator.Agent;
import io.jrun.launcher.job.Cluster;
import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.registration.AgentLauncher;
import io.jrun.launcher.registration.LaunchedAgents;
import io.jrun.launcher.srun.SrunAgentLauncher;
import io.jrun.launcher.ssh.SshAgentLauncher;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

/**
 * The agents of a job: one agent inside this process, standing agents, or agents that the job launches.
 *
 * @param late further agents, which may join while the job runs
 */
record JobAgents(List<Agent> list, List<Agent> late, AutoCloseable end) implements AutoCloseable {
    JobAgents(List<Agent> list, AutoCloseable end) {
        this(list, List.of(), end);
    }

    /**
     * The agents of {@code job}, by node rank.
     *
     * @param home jrun's installation
     * @param notices receives messages for the user
     */
    static JobAgents open(JobSpec job, Path home, Consumer<String> notices) throws IOException {
        return job.cluster().isEmpty()
                ? inProcess(job.runId(), home)
                : open(job.cluster().get(), home, notices);
    }

    /** The agents of {@code cluster}, by node rank. */
    static JobAgents open(Cluster cluster, Path home, Consumer<String> notices) throws IOException {
        return switch (cluster.reach()) {
            case Cluster.Standing standing -> standing(cluster, standing);
            case Cluster.Slurm slurm -> {
                notices.accept(slurm.words());
                yield launched(cluster, new SrunAgentLauncher(slurm, System.getenv()), notices);
            }
            case Cluster.Ssh(List<String> options, String jrun, Map<String, String> users) ->
                launched(cluster, new SshAgentLauncher(options, jrun, home.toString(), users), notices);
            case Cluster.ByRendezvous _ ->
                throw new IllegalArgumentException("a rendezvous has a host, see RendezvousRun");
        };
    }

    private static JobAgents inProcess(String runId, Path home) throws IOException {
        String name = "jrun-" + runId;
        AgentServer server = AgentServer.inProcess(name, AgentOptions.ofHome(home, Version.TEXT));
        // The agent's messages use threads of their own, never a thread that holds a lock of the agent: the console may
        // block its thread, and the handler of a message may call the agent again.
        ManagedChannel channel = InProcessChannelBuilder.forName(name)
                .executor(Executors.newCachedThreadPool(JobAgents::daemon))
                .build();
        return new JobAgents(List.of(new Agent("", channel)), server);
    }

    private static JobAgents standing(Cluster cluster, Cluster.Standing standing) {
        SocketTransport transport = SocketTransport.to(SecretFile.read(standing.secretFile()));
        int port = standing.agentPort();
        return new JobAgents(
                cluster.names().stream()
                        .map(host -> new Agent(host + ":" + port, transport.channel(host, port)))
                        .toList(),
                () -> {});
    }

    private static JobAgents launched(Cluster cluster, AgentLauncher launcher, Consumer<String> notices)
            throws IOException {
        LaunchedAgents agents =
                LaunchedAgents.call(cluster.names(), launcher, SecretFile.random(), Version.TEXT, notices);
        return new JobAgents(agents.agents(), agents);
    }

    private static Thread daemon(Runnable work) {
        return Thread.ofPlatform().daemon().name("jrun-from-agent").unstarted(work);
    }

    /** Ends the agents that serve only this job, and waits for them for some seconds at most. */
    @Override
    public void close() {
        try {
            end.close();
        } catch (Exception e) {
            throw new IllegalStateException("the job's agents did not end as they should", e);
        }
    }
}
