package io.jrun.launcher.doctor;

import io.grpc.Channel;
import io.grpc.Context;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.DoctorGrpc;
import io.jrun.agent.proto.DoctorGrpc.DoctorBlockingStub;
import io.jrun.agent.proto.Examination;
import io.jrun.agent.proto.ExamineRequest;
import io.jrun.agent.proto.LinkMeasurement;
import io.jrun.agent.proto.ListenRequest;
import io.jrun.agent.proto.Listening;
import io.jrun.agent.proto.MeasureRequest;
import io.jrun.launcher.coordinator.AgentRoute;
import io.jrun.launcher.doctor.HostAssessment.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalInt;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Requests the facts of several hosts from their agents, and lets the agents measure their connections to each other.
 */
public final class HostsCheck implements Check {
    /**
     * The number of clock requests. The error is half a round trip, and the fastest of several requests meets no pause
     * of a process.
     */
    private static final int CLOCK_QUESTIONS = 8;

    /** The deadline of an agent that has already answered. Listing GPUs takes up to 10 s. */
    private static final Duration ANSWER = Duration.ofSeconds(20);

    private final List<String> hosts;
    private final List<AgentRoute> agents;
    private final Duration firstAnswerTimeout;
    private final HostAssessment findings;

    /**
     * Checks these hosts.
     *
     * @param agents the agents of the hosts, in the same order
     * @param port port of the standing agents; empty if jrun starts the agents
     * @param firstAnswerTimeout longest time until the first answer of an agent
     * @param version version of this jrun
     */
    public HostsCheck(
            List<String> hosts,
            List<AgentRoute> agents,
            OptionalInt port,
            Duration firstAnswerTimeout,
            String version) {
        this.hosts = List.copyOf(hosts);
        this.agents = List.copyOf(agents);
        this.firstAnswerTimeout = firstAnswerTimeout;
        this.findings = new HostAssessment(version, port);
    }

    /** An agent that has answered and listens for the other agents. */
    private record HostReport(DoctorBlockingStub agent, Examination facts, int port) {}

    @Override
    public List<CheckResult> run() throws InterruptedException {
        List<CheckResult> found = new ArrayList<>();
        Map<Integer, HostReport> answers = new TreeMap<>();
        Context.CancellableContext listening = Context.current().withCancellation();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<List<CheckResult>>> examinations = new ArrayList<>();
            for (int i = 0; i < hosts.size(); i++) {
                int number = i;
                examinations.add(threads.submit(() -> examine(number, answers, listening)));
            }
            found.addAll(gather(examinations));
            List<Integer> there = List.copyOf(answers.keySet());
            List<HostAssessment.HostConnection> connections = new ArrayList<>();
            for (List<RoundRobinPairs.Pair> round : RoundRobinPairs.rounds(there.size())) {
                List<Callable<List<HostAssessment.HostConnection>>> measurements = new ArrayList<>();
                for (RoundRobinPairs.Pair pair : round) {
                    int first = there.get(pair.first());
                    int second = there.get(pair.second());
                    measurements.add(
                            () -> List.of(connection(first, second, answers), connection(second, first, answers)));
                }
                connections.addAll(
                        gather(measurements.stream().map(threads::submit).toList()));
            }
            found.addAll(HostAssessment.connections(connections));
        } finally {
            listening.cancel(null);
        }
        return found;
    }

    private List<CheckResult> examine(int number, Map<Integer, HostReport> answers, Context listening)
            throws InterruptedException {
        String host = hosts.get(number);
        try {
            Channel channel = within(agents.get(number).connect(), firstAnswerTimeout);
            DoctorBlockingStub agent = DoctorGrpc.newBlockingStub(channel);
            Examination facts = agent.withDeadlineAfter(firstAnswerTimeout.toSeconds(), TimeUnit.SECONDS)
                    .examine(ExamineRequest.newBuilder().addAllNames(hosts).build());
            Clock clock = clock(agent);
            int port = listening.wrap(() -> listen(channel)).call();
            synchronized (answers) {
                answers.put(number, new HostReport(agent, facts, port));
            }
            return findings.of(host, facts, clock);
        } catch (StatusRuntimeException e) {
            return List.of(findings.unreachable(host, e.getStatus()));
        } catch (InterruptedException | RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** Measures the clock by the answer with the shortest round trip, which is the most exact. */
    private static Clock clock(DoctorBlockingStub agent) {
        Clock best = new Clock(0, Double.MAX_VALUE);
        for (int i = 0; i < CLOCK_QUESTIONS; i++) {
            long start = System.nanoTime();
            long before = System.currentTimeMillis();
            Examination answer = within(agent)
                    .examine(ExamineRequest.newBuilder().setClockOnly(true).build());
            double roundTrip = (System.nanoTime() - start) / 1e9;
            if (roundTrip < best.roundTrip()) {
                best = new Clock((answer.getClockMillis() - before) / 1e3 - roundTrip / 2, roundTrip);
            }
        }
        return best;
    }

    /** Lets the agent listen until the current context ends. Returns the port. */
    private static int listen(Channel agent) throws InterruptedException {
        CompletableFuture<Integer> port = new CompletableFuture<>();
        DoctorGrpc.newStub(agent).listen(ListenRequest.getDefaultInstance(), new StreamObserver<Listening>() {
            @Override
            public void onNext(Listening message) {
                port.complete(message.getPort());
            }

            @Override
            public void onError(Throwable error) {
                port.completeExceptionally(Status.fromThrowable(error).asRuntimeException());
            }

            @Override
            public void onCompleted() {
                onError(Status.UNAVAILABLE.withDescription("it has ended").asRuntimeException());
            }
        });
        return within(port, ANSWER);
    }

    private static <T> T within(CompletableFuture<T> answer, Duration limit) throws InterruptedException {
        try {
            return answer.get(limit.toSeconds(), TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            throw Status.fromThrowable(e).asRuntimeException();
        } catch (TimeoutException e) {
            throw Status.DEADLINE_EXCEEDED
                    .withDescription("no answer within " + limit.toSeconds() + " s")
                    .asRuntimeException();
        }
    }

    /**
     * Measures a connection as workers use it: to the address at which jrun reaches the host, and to a port that the
     * kernel has chosen.
     */
    private HostAssessment.HostConnection connection(int from, int to, Map<Integer, HostReport> answers) {
        HostReport other = Objects.requireNonNull(answers.get(to));
        LinkMeasurement measured;
        try {
            measured = within(Objects.requireNonNull(answers.get(from)).agent())
                    .measure(MeasureRequest.newBuilder()
                            .setHost(other.facts().getAddress())
                            .setPort(other.port())
                            .build());
        } catch (StatusRuntimeException e) {
            measured = LinkMeasurement.newBuilder()
                    .setError(String.valueOf(Status.fromThrowable(e).getDescription()))
                    .build();
        }
        return new HostAssessment.HostConnection(
                hosts.get(from), hosts.get(to), other.facts().getPortRange(), measured);
    }

    private static DoctorBlockingStub within(DoctorBlockingStub agent) {
        return agent.withDeadlineAfter(ANSWER.toSeconds(), TimeUnit.SECONDS);
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
