package io.jrun.agent;

import io.jrun.agent.node.HostFacts;
import io.jrun.agent.proto.DoctorAnswer;
import io.jrun.agent.proto.DoctorQuestion;
import java.io.IOException;
import java.util.function.Consumer;

/** Answers the questions of {@code jrun doctor} on the connection of an agent that has dialled it. Thread-safe. */
final class OutboundDoctor {
    private final String home;
    private final DoctorService service;
    private final Consumer<DoctorAnswer> reply;

    /**
     * @param home the launcher's address
     * @param version jrun's
     * @param secret of the agents that this launcher has called
     */
    OutboundDoctor(String home, String version, AgentSecret secret, Consumer<DoctorAnswer> reply) {
        this.home = home;
        this.service = new DoctorService(version, secret, RefusalLog.open(_ -> {}));
        this.reply = reply;
    }

    /** Begins to find the answer; its port, where one is opened, stays to the end of this process. */
    void ask(DoctorQuestion question) {
        Thread.ofVirtual().name("jrun-doctor").start(() -> reply.accept(answer(question)));
    }

    private DoctorAnswer answer(DoctorQuestion question) {
        DoctorAnswer.Builder answer = DoctorAnswer.newBuilder().setId(question.getId());
        try {
            switch (question.getQuestionCase()) {
                case EXAMINE ->
                    answer.setExamination(service.examine(question.getExamine(), HostFacts.addressTowards(home)));
                case LISTEN ->
                    answer.getListeningBuilder().setPort(service.listen().getPort());
                case MEASURE -> answer.setMeasurement(service.measure(question.getMeasure()));
                case QUESTION_NOT_SET -> answer.setError("jrun's versions differ");
            }
        } catch (IOException e) {
            answer.setError("no port can be opened: " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            answer.setError("interrupted");
        }
        return answer.build();
    }
}
