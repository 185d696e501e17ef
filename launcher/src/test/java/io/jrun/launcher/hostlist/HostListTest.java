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

    /** One name for each slot, as schedulers write their lists, and numbers that are added, as Open MPI adds them. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        n1 n1 n2 n2           | n1:2 n2:2
        n[1,1,2]              | n1:2 n2:1
        h[1-2],h2             | h1:1 h2:2
        localhost,localhost   | localhost:2
        h1:2,h2:2,h1:2        | h1:4 h2:2
        h1:3,h2,h1:3          | h1:6 h2
        n2 n1 n2              | n2:2 n1:1
        """)
    void repeatedNameIsOneMoreSlot(String text, String hosts) {
        assertThat(HostList.parse(text).stream()
                        .map(host -> host.name()
                                + (host.slots().isPresent() ? ":" + host.slots().getAsInt() : ""))
                        .collect(Collectors.joining(" ")))
                .isEqualTo(hosts);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        h1:2,h1       | host 'h1' is named twice, with a number of workers and without one; write the number each time, or once in all
        a@h1,b@h1     | host 'h1' is named twice, with two users; name it with one
        h1:4096,h1:1  | host 'h1' has 4097 workers in all; the most is 4096
        """)
    void mentionsThatDoNotFitAreRefused(String text, String message) {
        assertThatThrownBy(() -> HostList.parse(text))
                .isInstanceOf(HostSyntaxException.class)
                .hasMessage(message);
    }

    @ParameterizedTest
    @ValueSource(strings = {"me@h1", "first.last@10.0.0.1:2", "svc_1@[fd00::1]:8", "host$@n[1-2]:4"})
    void userIsNoPartOfTheName(String text) {
        String user = text.substring(0, text.indexOf('@'));
        assertThat(HostList.parse(text)).isNotEmpty().allSatisfy(host -> {
            assertThat(host.user()).isEqualTo(user);
            assertThat(host.name()).doesNotContain("@");
        });
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
                "n[2-1]",
                "n[]",
                "n[a-c]",
                "n[0x1-3]",
                "n[1-3^2]",
                "n[1-2",
                "n1-2]",
                "n[1 - 2]",
                "n[[1-2]]",
                "n[1]]",
                "n[-1]",
                "n[1-]",
                "n[1,]",
                "n[9999999999999999999]",
                "{all}",
                "h1:",
                "h1:x",
                "h1:-1",
                "h1:0",
                "h1:5000",
                ":8",
                "h1:8:9",
                "h/1",
                "@h1",
                "-o@h1",
                "me@",
                "me@h1@h2",
                "a b@h1/",
                "host*2",
                "",
                " , ",
                "h\u00e91"
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

    /** Forms that Open MPI's reader of host files takes, and those that it refuses. A slash stands for a new line. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        node1                                 | node1
        node1 slots=4                         | node1:4
        node1 slots = 4                       | node1:4
        node1 cpu=4                           | node1:4
        node1 count=4                         | node1:4
        node1 max_slots=4                     | node1:4
        node1 max-slots=4                     | node1:4
        node1 slots_max=4                     | node1:4
        node1 slots-max=4                     | node1:4
        node1 cpu-max=4                       | node1:4
        node1 max_cpu=4                       | node1:4
        node1 count_max=4                     | node1:4
        node1 max-count=4                     | node1:4
        node1 slots=2 max_slots=4             | node1:2
        node1 max_slots=4 slots=2             | node1:2
        node1 slots=4 max-slots=4             | node1:4
        node1/node1/node2                     | node1:2 node2:1
        node1/node1/node1                     | node1:3
        node1 slots=1/node2 slots=2           | node1:1 node2:2
        # all/node1                           | node1
        // all/node1                          | node1
        node1 // one                          | node1
        node1 slots=2 # two                   | node1:2
        'node1 /* no */ slots=3'              | node1:3
        'node1 /* no/node2 */ slots=3'        | refused
        '/* node1/node2/*/ node3'             | node3
        '# /* is no block/node1'              | node1
        me@node1 slots=2                      | me@node1:2
        me@10.0.0.1                           | me@10.0.0.1
        node1 username=me slots=2             | me@node1:2
        node1 user-name=me                    | me@node1
        fd00::1 slots=2                       | fd00::1:2
        node1 slots=4 max_slots=2             | refused
        node1 slots=2 slots=4                 | refused
        node1 slots=2/node1 slots=2           | refused
        node1 slots=2/node1                   | refused
        node1 slots=many                      | refused
        node1 slots=                          | refused
        node1 slots                           | refused
        node1 boxes=2                         | refused
        slots=2                               | refused
        '/* node1'                            | refused
        """)
    void hostFilesAreThoseOfOpenMpi(String file, String hosts) {
        List<String> lines = List.of(file.replaceAll("(?<![/*])/(?![/*])", "\n").split("\n", -1));
        String read;
        try {
            read = HostFile.parse(lines).stream()
                    .map(host -> (host.user().isEmpty() ? "" : host.user() + "@")
                            + host.name()
                            + (host.slots().isPresent() ? ":" + host.slots().getAsInt() : ""))
                    .collect(Collectors.joining(" "));
        } catch (HostSyntaxException e) {
            assertThat(e).message().hasLineCount(1).startsWith("line ");
            read = "refused";
        }
        assertThat(read).as(file).isEqualTo(hosts);
    }

    @Test
    void hostFileErrorsNameTheLine() {
        assertThatThrownBy(() -> HostFile.parse(List.of("a slots=1", "b slot=2")))
                .hasMessage("line 2: 'b slot=2': 'slot=2' is not understood; a line is 'node1 slots=8', 'node1:8' or"
                        + " 'node1'");
        assertThatThrownBy(() -> HostFile.parse(List.of("a slots=none")))
                .hasMessage("line 1: 'a slots=none': 'none' is no number of workers from 1 to 4096");
        assertThatThrownBy(() -> HostFile.parse(List.of("a slots=2", "", "a slots=3")))
                .hasMessage(
                        "line 3: host 'a' is named a second time; name it once, with all its workers (a slots=5), or"
                                + " each time without a number");
        assertThatThrownBy(() -> HostFile.parse(List.of("a", "/* b", "c")))
                .hasMessage("line 2: the comment has no end, */");
        assertThatThrownBy(() -> HostFile.parse(List.of("# nothing"))).hasMessage("no host is named");
    }
}
