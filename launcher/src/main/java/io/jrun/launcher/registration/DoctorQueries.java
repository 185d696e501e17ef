package io.jrun.launcher.registration;

import io.grpc.Status;
import io.grpc.stub.StreamObserver;
import io.jrun.agent.proto.DoctorAnswer;
import io.jrun.agent.proto.DoctorGrpc.DoctorImplBase;
import io.jrun.agent.proto.DoctorQuestion;
import io.jrun.agent.proto.Examination;
import io.jrun.agent.proto.ExamineRequest;
import io.jrun.agent.proto.ListenRequest;
import io.jrun.agent.proto.Listening;
import io.jrun.agent.proto.MeasureRequest;
import io.jrun.agent.proto.Measurement;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What {@code jrun doctor} asks of an agent that has dialled this launcher, on its way there and back. Those that wait for an
 * answer when the agent fails, fail as well, and so do later ones. Thread-safe.
 */
final class DoctorQueries extends DoctorImplBase {
    private final Consumer<DoctorQuestion> agent;
    private final Map<Long, Asker> askers = new HashMap<>();
    private long last;
    private @Nullable Status failed;

    /** Who waits for an answer. */
    private record Asker(Consumer<DoctorAnswer> answered, Consumer<Throwable> failed) {}

    /** @param agent is asked, once it is there */
    DoctorQueries(Consumer<DoctorQuestion> agent) {
        this.agent = agent;
    }

    @Override
    public void examine(ExamineRequest request, StreamObserver<Examination> reply) {
        ask(DoctorQuestion.newBuilder().setExamine(request), answered(reply, DoctorAnswer::getExamination, true));
    }

    /** The port stays to the agent's end. */
    @Override
    public void listen(ListenRequest request, StreamObserver<Listening> reply) {
        ask(DoctorQuestion.newBuilder().setListen(request), answered(reply, DoctorAnswer::getListening, false));
    }

    @Override
    public void measure(MeasureRequest request, StreamObserver<Measurement> reply) {
        ask(DoctorQuestion.newBuilder().setMeasure(request), answered(reply, DoctorAnswer::getMeasurement, true));
    }

    private static <M> Asker answered(StreamObserver<M> reply, Function<DoctorAnswer, M> part, boolean last) {
        return new Asker(
                answer -> {
                    reply.onNext(part.apply(answer));
                    if (last) {
                        reply.onCompleted();
                    }
                },
                reply::onError);
    }

    private void ask(DoctorQuestion.Builder question, Asker asker) {
        Status status;
        synchronized (this) {
            status = failed;
            if (status == null) {
                askers.put(++last, asker);
                agent.accept(question.setId(last).build());
            }
        }
        if (status != null) {
            asker.failed().accept(status.asRuntimeException());
        }
    }

    /** The agent has answered. */
    void answer(DoctorAnswer answer) {
        Asker asker;
        synchronized (this) {
            asker = askers.remove(answer.getId());
        }
        if (asker == null) {
            return;
        }
        if (answer.getError().isEmpty()) {
            asker.answered().accept(answer);
        } else {
            asker.failed()
                    .accept(Status.UNAVAILABLE
                            .withDescription(answer.getError())
                            .asRuntimeException());
        }
    }

    /** The agent will not answer any more. */
    void fail(Status status) {
        List<Asker> waiting;
        synchronized (this) {
            failed = status;
            waiting = List.copyOf(askers.values());
            askers.clear();
        }
        waiting.forEach(asker -> asker.failed().accept(status.asRuntimeException()));
    }
}
