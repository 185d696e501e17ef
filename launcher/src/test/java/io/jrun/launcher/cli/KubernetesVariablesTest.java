package io.jrun.launcher.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.JobSpec;
import io.jrun.launcher.job.RendezvousSettings;
import io.jrun.launcher.job.UsageException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The place of a pod, from the variables of each controller. */
class KubernetesVariablesTest {
    @TempDir
    private Path folder;

    private Requests requests;

    @BeforeEach
    void makeFiles() throws IOException {
        requests = new Requests(folder).with("JRUN_SECRET_FILE", "secret");
        Files.writeString(folder.resolve("secret"), "s");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        LWS_GROUP_SIZE=3 LWS_WORKER_INDEX=1 LWS_LEADER_ADDRESS=l-0.l.ns          |                                      | 1 of 3 at l-0.l.ns:29400
        VC_TASK_INDEX=1 VC_WORKER_HOSTS=j-worker-0.j,j-worker-1.j                |                                      | 1 of 2 at j-worker-0.j:29400
        VK_TASK_INDEX=0 VC_WORKER_HOSTS=j-worker-0.j,j-worker-1.j                |                                      | 0 of 2 at j-worker-0.j:29400
        JOB_COMPLETION_INDEX=2                                                   | --nnodes=4 --rdzv-endpoint=j-0.j:1   | 2 of 4 at j-0.j:1
        JOB_COMPLETION_INDEX=2                                                   | --nnodes=4 --rdzv-endpoint=j-0.j --node-rank=3 | 3 of 4 at j-0.j:29400
        PET_NNODES=2 PET_NODE_RANK=1 PET_MASTER_ADDR=t-0.t PET_MASTER_PORT=29500 JOB_COMPLETION_INDEX=1 |               | 1 of 2 at t-0.t:29500
        """)
    void theVariablesNameTheNode(String variables, String options, String place) {
        setAll(variables);
        RendezvousSettings meeting = requests.job(options == null ? new String[0] : options.split(" ", -1))
                .rendezvous()
                .orElseThrow();
        assertThat(meeting.nodeRank().orElseThrow() + " of " + meeting.mostNodes() + " at " + meeting.host() + ":"
                        + meeting.port())
                .isEqualTo(place);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        LWS_GROUP_SIZE=3 LWS_WORKER_INDEX=1 LWS_LEADER_ADDRESS=l-0 | --standalone
        LWS_GROUP_SIZE=3 LWS_WORKER_INDEX=1 LWS_LEADER_ADDRESS=l-0 | --launch=local
        LWS_GROUP_SIZE=1 LWS_WORKER_INDEX=0 LWS_LEADER_ADDRESS=l-0 | --max-restarts=1
        JOB_COMPLETION_INDEX=2                                     | --nproc-per-node=2
        JRUN_AGENT_SOCKET=/s LWS_GROUP_SIZE=3 LWS_WORKER_INDEX=1 LWS_LEADER_ADDRESS=l-0 | --nproc-per-node=2
        """)
    void aJobOfThisPodAloneStaysOne(String variables, String options) {
        setAll(variables);
        JobSpec job = requests.job(options.split(" ", -1));
        assertThat(job.cluster()).isEmpty();
    }

    @Test
    void aWrongVariableIsNamed() {
        setAll("LWS_GROUP_SIZE=many");
        assertThatThrownBy(requests::job)
                .isInstanceOf(UsageException.class)
                .hasMessage(
                        "--nnodes (from LWS_GROUP_SIZE): 'many' is not usable; give a number of nodes, or MIN:MAX.");
    }

    private void setAll(String variables) {
        for (String pair : variables.split(" ", -1)) {
            int equals = pair.indexOf('=');
            requests.with(pair.substring(0, equals), pair.substring(equals + 1));
        }
    }
}
