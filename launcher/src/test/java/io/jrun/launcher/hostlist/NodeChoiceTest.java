package io.jrun.launcher.hostlist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.Cluster.Host;
import io.jrun.launcher.job.GpuSubset;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NodeChoiceTest {
    private static final List<Host> HOSTS = HostList.parse("h[1-4]:8");

    @ParameterizedTest
    @ValueSource(strings = {"h4,h2", "h4@h2", "h[4,2]", " h4 h2, "})
    void includedHostsKeepTheirOrder(String text) {
        assertThat(NodeChoice.parse(text).include(HOSTS)).extracting(Host::name).containsExactly("h2", "h4");
        assertThat(NodeChoice.parse(text).exclude(HOSTS)).extracting(Host::name).containsExactly("h1", "h3");
    }

    @ParameterizedTest
    @ValueSource(strings = {"h2:0,2-4,h1", "h1@h2:0,2-4", "h2:0-0,2,3,4 h1"})
    void numbersAfterAColonAreGpusOfThatHost(String text) {
        Set<Integer> gpus = Set.of(0, 2, 3, 4);
        assertThat(NodeChoice.parse(text).include(HOSTS))
                .containsExactly(HOSTS.getFirst(), new Host("h2", OptionalInt.of(4), GpuSubset.only(gpus)));
        assertThat(NodeChoice.parse(text).exclude(HOSTS))
                .containsExactly(
                        new Host("h2", OptionalInt.of(4), GpuSubset.without(gpus)), HOSTS.get(2), HOSTS.get(3));
    }

    @Test
    void bracketsGiveAllTheirHostsTheSameGpus() {
        assertThat(NodeChoice.parse("h[1-3]:0-5,7").include(HOSTS))
                .hasSize(3)
                .allSatisfy(host -> assertThat(host.slots()).hasValue(7));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        ''            | no host is named
        h9            | 'h9' is not among the job's hosts, h1,h2,h3,h4
        h1,h1:0       | the host 'h1' occurs twice
        h1,3          | '3' is not a host; GPUs follow a colon: h1:3
        h1:x          | 'x' is not a GPU; a host's GPUs are numbers, such as h1:0,2 or h1:0-3
        h1:           | '' is not a GPU; a host's GPUs are numbers, such as h1:0,2 or h1:0-3
        h1:3-1        | '3-1' is not a range of GPUs from 0 to 1023
        h[1-4]        | no host is left
        h2:0-7        | host h2 has no worker left; exclude the whole host
        """)
    void impossibleExclusionsAreRefused(String text, String message) {
        assertThatThrownBy(() -> NodeChoice.parse(text).exclude(HOSTS))
                .isInstanceOf(HostSyntaxException.class)
                .hasMessage(message);
    }
}
