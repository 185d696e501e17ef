package io.jrun.launcher.coordinator;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.agent.proto.WorkerErrorReport;
import io.jrun.agent.proto.WorkerExitedReport;
import io.jrun.launcher.layout.Placement;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class AgentMessagesTest {
    @Test
    void nothingOfAWorkersEndIsDropped() {
        WorkerExitedReport exited = WorkerExitedReport.newBuilder()
                .setRank(5)
                .setRound(2)
                .setPid(77)
                .setExitCode(137)
                .setAfterStop(true)
                .setOomKilled(true)
                .setStartError("why")
                .setNotJoined("is stopped")
                .setError(WorkerErrorReport.newBuilder().setMessage("m").setStack("s"))
                .addStderrTail("tail")
                .addArtifacts("hs_err")
                .setLogFolder("attempt-0/rank-0003")
                .setRunSeconds(1.5)
                .build();
        assertThat(exited.getAllFields())
                .hasSameSizeAs(WorkerExitedReport.getDescriptor().getFields());
        assertThat(AgentMessages.end(exited, new Placement(5, 1, 0, "node2", ""), "pp=1"))
                .isEqualTo(new WorkerResult(
                        5,
                        0,
                        "node2",
                        77,
                        137,
                        true,
                        true,
                        "why",
                        "is stopped",
                        Optional.of(new WorkerResult.WorkerError("m", "s")),
                        List.of("tail"),
                        List.of("hs_err"),
                        "attempt-0/rank-0003",
                        1.5,
                        "pp=1"));
    }
}
