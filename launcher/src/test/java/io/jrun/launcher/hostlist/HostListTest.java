package io.jrun.launcher.hostlist;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.launcher.job.Cluster.Host;
import java.util.List;
import java.util.OptionalInt;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class HostListTest {
    /** The expected names are what {@code scontrol show hostnames} of Slurm 22.05 and 25.11 prints. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        h1                       | h1
        h1,h2                    | h1 h2
        n[01-04,07]              | n01 n02 n03 n04 n07
        n[098-102]               | n098 n099 n100 n101 n102
        n[9-11]                  | n9 n10 n11
        n[09-11]                 | n09 n10 n11
        n[00-2]                  | n00 n01 n02
        n[1-003]                 | n1 n2 n3
        a[1-2]b[3-4]             | a1b3 a1b4 a2b3 a2b4
        n[1-2][3-4]              | n13 n14 n23 n24
        r[1-2]c[1-2]n[1-2]       | r1c1n1 r1c1n2 r2c1n1 r2c1n2 r1c2n1 r1c2n2 r2c2n1 r2c2n2
        [1-3]                    | 1 2 3
        n[1-2]-ib                | n1-ib n2-ib
        host-[1-2].example.com   | host-1.example.com host-2.example.com
        n[1-2]m3                 | n1m3 n2m3
        n[1-2],                  | n1 n2
        '  n1 , n2'              | n1 n2
        'n1 n2,,n[3-4]'          | n1 n2 n3 n4
        n3,n1,n2                 | n3 n1 n2
        """)
    void namesAreThoseOfSlurm(String text, String names) {
        assertThat(HostList.parse(text).stream().map(Host::name).collect(Collectors.joining(" ")))
                .isEqualTo(names);
    }

    @Test
    void duplicatesOfOneExpressionAreKeptByTheGrammarAndRefusedForAJob() {
        assertThat(HostNames.expand("n[1,1,2]")).containsExactly("n1", "n1", "n2");
        assertThatThrownBy(() -> HostList.parse("n[1,1,2]"))
                .isInstanceOf(HostSyntaxException.class)
                .hasMessage("host 'n1' is named twice; name it once, with all its workers (n1:8)");
    }

    @Test
    void workersFollowAColon() {
        assertThat(HostList.parse("gpu[01-02]:8,h3:4,h4"))
                .containsExactly(host("gpu01", 8), host("gpu02", 8), host("h3", 4), host("h4"));
    }

    @Test
    void addressesAreHostsToo() {
        assertThat(HostList.parse("10.0.0.[1-2]:2,[fd99::1]:4,[fd99::2],fd99::3"))
                .containsExactly(
                        host("10.0.0.1", 2), host("10.0.0.2", 2), host("fd99::1", 4), host("fd99::2"), host("fd99::3"));
    }

    @Test
    void limitIsSlurms() {
        assertThat(HostList.parse("n[0-65535]")).hasSize(65_536).last().isEqualTo(host("n65535"));
        assertThatThrownBy(() -> HostList.parse("n[0-65536]"))
                .hasMessage("'n[0-65536]': the range 0-65536 has more than 65536 hosts");
        assertThatThrownBy(() -> HostList.parse("a[1-300]b[1-300]"))
                .hasMessage("'a[1-300]b[1-300]': the expression has more than 65536 hosts");
        assertThatThrownBy(() -> HostList.parse("a[1-300]b[1-300]c[1-300]"))
                .hasMessage("'a[1-300]b[1-300]c[1-300]': the expression has more than 65536 hosts");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "n[2-1]", "n[]", "n[a-c]", "n[0x1-3]", "n[1-3^2]", "n[1-2", "n1-2]", "n[1 - 2]", "n[[1-2]]", "n[1]]",
                "n[-1]", "n[1-]", "n[1,]", "n[9999999999999999999]", "{all}", "h1:", "h1:x", "h1:-1", "h1:0", "h1:5000",
                ":8", "h1:8:9", "h/1", "host*2", "", " , ", "h\u00e91"
            })
    void unreadableTextIsRefusedInOneLine(String text) {
        assertThatThrownBy(() -> HostList.parse(text))
                .isInstanceOf(HostSyntaxException.class)
                .message()
                .hasLineCount(1);
    }

    static Host host(String name) {
        return new Host(name, OptionalInt.empty());
    }

    static Host host(String name, int slots) {
        return new Host(name, OptionalInt.of(slots));
    }

    @Test
    void hostFilesOfOpenMpiDeepSpeedAndPlainOnes() {
        assertThat(HostFile.parse(List.of(
                        "# the cluster",
                        "",
                        "worker-1 slots=4",
                        "worker-2  slots = 8 max_slots=16 # big",
                        "plain",
                        "counted:2",
                        "rack[1-2] slots=3")))
                .containsExactly(
                        host("worker-1", 4),
                        host("worker-2", 8),
                        host("plain"),
                        host("counted", 2),
                        host("rack1", 3),
                        host("rack2", 3));
    }

    @Test
    void hostFileErrorsNameTheLine() {
        assertThatThrownBy(() -> HostFile.parse(List.of("a slots=1", "b slot=2")))
                .hasMessage("line 2: 'b slot=2': 'slot=2' is not understood; a line is 'node1 slots=8', 'node1:8' or"
                        + " 'node1'");
        assertThatThrownBy(() -> HostFile.parse(List.of("a slots=none")))
                .hasMessage("line 1: 'a slots=none': 'none' is no number of workers from 1 to 4096");
        assertThatThrownBy(() -> HostFile.parse(List.of("# nothing"))).hasMessage("no host is named");
    }
}
