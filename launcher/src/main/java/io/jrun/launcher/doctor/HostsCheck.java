package io.jrun.launcher.doctor;

import io.grpc.ManagedChannel;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.jrun.agent.SocketTransport;
import io.jrun.agent.proto.DoctorGrpc;
import io.jrun.agent.proto.DoctorGrpc.DoctorBlockingStub;
import io.jrun.agent.proto.Examination;
import io.jrun.agent.proto.ExamineRequest;
import io.jrun.agent.proto.MeasureRequest;
import io.jrun.agent.proto.Measurement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/** Asks the standing agents of several hosts what their hosts are like, and has them measure their ways to each other. */
public final class HostsCheck implements Check {
    /** For an agent's answer; one that must list GPUs takes up to 10 s for it. */
    private static final long DEADLINE_SECONDS = 20;

    private final List<String> hosts;
    private final int port;
    private final SocketTransport transport;
    private final HostFindings findings;

    /**
     * A check of these hosts.
     *
     * @param port of all agents
     * @param version of jrun here
     */
    public HostsCheck(List<String> hosts, int port, SocketTransport transport, String version) {
        this.hosts = List.copyOf(hosts);
        this.port = port;
        this.transport = transport;
        this.findings = new HostFindings(version);
    }

    /** An agent that has answered. */
    private record Answer(Examination facts, double clockSeconds, double roundTripSeconds) {}

    @Override
    public List<Finding> look() throws InterruptedException {
        List<Finding> found = new ArrayList<>();
        Map<Integer, DoctorBlockingStub> agents = new TreeMap<>();
        List<ManagedChannel> channels =
                hosts.stream().map(host -> transport.channel(host, port)).toList();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<List<Finding>>> answers = new ArrayList<>();
            for (int i = 0; i < hosts.size(); i++) {
                int number = i;
                DoctorBlockingStub agent = DoctorGrpc.newBlockingStub(channels.get(i));
                answers.add(threads.submit(() -> examine(number, agent, agents)));
            }
            found.addAll(gather(answers));
            List<Integer> there = List.copyOf(agents.keySet());
            List<HostFindings.Way> ways = new ArrayList<>();
            for (List<Pairing.Pair> round : Pairing.rounds(there.size())) {
                List<Callable<List<HostFindings.Way>>> measurements = new ArrayList<>();
                for (Pairing.Pair pair : round) {
                    int first = there.get(pair.first());
                    int second = there.get(pair.second());
                    measurements.add(() -> List.of(way(first, second, agents), way(second, first, agents)));
                }
                ways.addAll(gather(measurements.stream().map(threads::submit).toList()));
            }
            found.addAll(HostFindings.ways(ways));
        } finally {
            channels.forEach(ManagedChannel::shutdownNow);
        }
        return found;
    }

    private List<Finding> examine(int number, DoctorBlockingStub agent, Map<Integer, DoctorBlockingStub> agents) {
        String host = hosts.get(number);
        try {
            Answer answer = ask(agent);
            synchronized (agents) {
                agents.put(number, agent);
            }
            return findings.of(host, answer.facts(), answer.clockSeconds(), answer.roundTripSeconds());
        } catch (StatusRuntimeException e) {
            return List.of(findings.unreachable(host, port, e.getStatus()));
        }
    }

    /** The second answer counts for the clock: the first had to connect, and to resolve names. */
    private Answer ask(DoctorBlockingStub agent) {
        ExamineRequest request = ExamineRequest.newBuilder().addAllNames(hosts).build();
        Examination facts = within(agent).examine(request);
        long start = System.nanoTime();
        long before = System.currentTimeMillis();
        Examination second = within(agent).examine(ExamineRequest.getDefaultInstance());
        double roundTrip = (System.nanoTime() - start) / 1e9;
        return new Answer(facts, (second.getClockMillis() - before) / 1e3 - roundTrip / 2, roundTrip);
    }

    private HostFindings.Way way(int from, int to, Map<Integer, DoctorBlockingStub> agents) {
        DoctorBlockingStub agent = Objects.requireNonNull(agents.get(from));
        Measurement measured;
        try {
            measured = within(agent)
                    .measure(MeasureRequest.newBuilder()
                            .setHost(hosts.get(to))
                            .setPort(port)
                            .build());
        } catch (StatusRuntimeException e) {
            measured = Measurement.newBuilder()
                    .setError(String.valueOf(Status.fromThrowable(e).getDescription()))
                    .build();
        }
        return new HostFindings.Way(hosts.get(from), hosts.get(to), measured);
    }

    private static DoctorBlockingStub within(DoctorBlockingStub agent) {
        return agent.withDeadlineAfter(DEADLINE_SECONDS, TimeUnit.SECONDS);
    }

    private static <T> List<T> gather(List<Future<List<T>>> futures) throws InterruptedException {
        List<T> all = new ArrayList<>();
        for (Future<List<T>> future : futures) {
            try {
                all.addAll(future.get());
            } catch (ExecutionException e) {
                throw new IllegalStateException("a check of hosts failed", e.getCause());
            }
        }
        return all;
    }
}
