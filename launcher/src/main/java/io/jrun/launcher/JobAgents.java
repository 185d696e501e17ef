package io.jrun.launcher;

import io.grpc.Channel;
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
import java.util.concurrent.Executors;
import java.util.function.Consumer;

/**
 * A job's agents, wherever they are and however they come: one inside this process, standing ones, or some that are called.
 *
 * @param late others, that may come while the job runs
 */
record JobAgents(List<Agent> list, List<Agent> late, AutoCloseable end) implements AutoCloseable {
    JobAgents(List<Agent> list, AutoCloseable end) {
        this(list, List.of(), end);
    }

    /**
     * The agents of {@code job}, by node rank.
     *
     * @param home jrun's installation
     * @param say takes sentences for the user
     */
    static JobAgents open(JobSpec job, Path home, Consumer<String> say) throws IOException {
        return job.cluster().isEmpty()
                ? here(job.runId(), home)
                : open(job.cluster().get(), home, say);
    }

    /** The agents of {@code cluster}, by node rank. */
    static JobAgents open(Cluster cluster, Path home, Consumer<String> say) throws IOException {
        return switch (cluster.reach()) {
            case Cluster.Standing standing -> standing(cluster, standing);
            case Cluster.Slurm slurm -> {
                say.accept(slurm.words());
                yield called(cluster, new SrunAgentLauncher(slurm), say);
            }
            case Cluster.Ssh(List<String> options, String jrun) ->
                called(cluster, new SshAgentLauncher(options, jrun, home.toString()), say);
            case Cluster.Met _ -> throw new IllegalArgumentException("a meeting has a host, see RendezvousRun");
        };
    }

    private static JobAgents here(String runId, Path home) throws IOException {
        String name = "jrun-" + runId;
        AgentServer server = AgentServer.inProcess(name, AgentOptions.ofHome(home, Version.TEXT));
        // The agent's messages come on threads of their own, never on a thread that holds a lock of the agent's:
        // the console may block its thread, and what a message leads to may call the agent again.
        Channel channel = InProcessChannelBuilder.forName(name)
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

    private static JobAgents called(Cluster cluster, AgentLauncher bootstrap, Consumer<String> say) throws IOException {
        LaunchedAgents gathering =
                LaunchedAgents.call(cluster.names(), bootstrap, SecretFile.random(), Version.TEXT, say);
        return new JobAgents(gathering.agents(), gathering);
    }

    private static Thread daemon(Runnable work) {
        return Thread.ofPlatform().daemon().name("jrun-from-agent").unstarted(work);
    }

    /** Ends the agents that are this job's alone, and waits for them; takes some seconds at most. */
    @Override
    public void close() {
        try {
            end.close();
        } catch (Exception e) {
            throw new IllegalStateException("the job's agents did not end as they should", e);
        }
    }
}
