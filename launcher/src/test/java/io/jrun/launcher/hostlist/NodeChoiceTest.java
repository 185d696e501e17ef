package io.jrun.launcher.hostlist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.Cluster.Host;
import io.jrun.launcher.job.GpuSubset;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import java.util.stream.Collectors;
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
        h1,3          | '3' is not a host; GPUs follow a colon: h1:3
        h1:x          | 'x' is not a GPU; a host's GPUs are numbers, such as h1:0,2 or h1:0-3
        h1:           | '' is not a GPU; a host's GPUs are numbers, such as h1:0,2 or h1:0-3
        h1:3-1        | '3-1' is not a range of GPUs from 0 to 1023
        h[1-4]        | no host is left
        h[1-4]:0-7    | no host is left
        h1@h2:1@5     | '5' is not among the job's hosts, h1,h2,h3,h4
        """)
    void impossibleExclusionsAreRefused(String text, String message) {
        assertThatThrownBy(() -> NodeChoice.parse(text).exclude(HOSTS))
                .isInstanceOf(HostSyntaxException.class)
                .hasMessage(message);
    }

    /** The choices of DeepSpeed's launcher, of two hosts with the GPUs 0 to 3, and what its filter leaves. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        include | w0              | w0:0,1,2,3
        include | w0:1            | w0:1
        include | w0:1,1          | w0:1
        include | w0:1@w0:0,1     | w0:0,1
        include | w0:3@w1:0@w0:2  | w0:2,3 w1:0
        include | w0:1@w0         | w0:0,1,2,3
        include | w1:0,3          | w1:0,3
        exclude | w0:1            | w0:0,2,3 w1:0,1,2,3
        exclude | w0:1,2          | w0:0,3 w1:0,1,2,3
        exclude | w1              | w0:0,1,2,3
        exclude | w0:0,1@w1:3     | w0:2,3 w1:0,1,2
        exclude | w0:0,1,2,3      | w1:0,1,2,3
        exclude | w0:0,1@w0:2,3   | w1:0,1,2,3
        exclude | w0@w1           | refused
        exclude | w0:0-3@w1:0-3   | refused
        include | jeff            | refused
        exclude | jeff            | refused
        include | w1:4            | refused
        exclude | w1:4            | refused
        exclude | w1@w0:1@5       | refused
        """)
    void choicesAreThoseOfDeepSpeed(String option, String text, String left) {
        List<Host> hosts = HostList.parse("w[0-1]:4");
        String chosen;
        try {
            NodeChoice choice = NodeChoice.parse(text);
            choice.checkCounted(hosts);
            chosen = (option.equals("include") ? choice.include(hosts) : choice.exclude(hosts))
                    .stream()
                            .map(host -> host.name() + ":"
                                    + host.gpus().of(List.of("0", "1", "2", "3")).stream()
                                            .collect(Collectors.joining(",")))
                            .collect(Collectors.joining(" "));
        } catch (HostSyntaxException e) {
            assertThat(e).message().hasLineCount(1);
            chosen = "refused";
        }
        assertThat(chosen).isEqualTo(left);
    }
}
