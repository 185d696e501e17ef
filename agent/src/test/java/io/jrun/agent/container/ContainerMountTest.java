package io.jrun.agent.container;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.agent.container.ContainerMount.Kind;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class ContainerMountTest {
    /** The parts of fuzzed entries: texts with a meaning in the grammar, or to mount(8). */
    private static final List<String> PIECES = List.of(
            ":",
            ",",
            "+",
            "/",
            "..",
            ".",
            "a",
            "data",
            "tmpfs",
            "umount",
            "ro",
            "rw",
            "rbind",
            "x-create=auto",
            "size=1g",
            "mode=777",
            " ",
            "\t",
            "\n",
            "\\040",
            "#",
            "\\",
            "=",
            "/etc",
            "../../etc/passwd",
            "\u00e9",
            "x-detach",
            "0",
            "");

    private static final int CASES = 1000;

    @Test
    void shortAndLongForms() {
        assertThat(ContainerMount.parseAll(
                        "/a,./b:/c,/d:/e:ro+rprivate,tmpfs:/t:size=10m+mode=1777,umount:/u:x-detach"))
                .containsExactly(
                        new ContainerMount(Kind.BIND, "/a", "/a", List.of()),
                        new ContainerMount(Kind.BIND, "./b", "/c", List.of()),
                        new ContainerMount(Kind.BIND, "/d", "/e", List.of("ro", "rprivate")),
                        new ContainerMount(Kind.TMPFS, "", "/t", List.of("size=10m", "mode=1777")),
                        new ContainerMount(Kind.UMOUNT, "", "/u", List.of("x-detach")));
    }

    /** Each flag that Enroot's mounts know for a container of its own. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "/a:/b:unbindable+ro",
                "/a:/b:runbindable",
                "/a:/b:rbind+rprivate",
                "/a:/b:nodev+nosuid+noexec",
                "tmpfs:/b:huge=within_size",
                "tmpfs:/b:huge=always+size=10%",
                "tmpfs:/b:unbindable"
            })
    void flagsReachTheMount(String entry) {
        ContainerMount mount = ContainerMount.parse(entry);
        assertThat(mount.text()).isEqualTo(entry);
        assertThat(MountFlags.ofMount(mount.flags()))
                .isEqualTo(mount.flags().stream()
                        .filter(flag -> !flag.equals("rbind") && !flag.endsWith("private"))
                        .toList());
    }

    @ParameterizedTest
    @CsvSource({"/a:/b//c/./d/, /b/c/d", "/a:/..b/c.., /..b/c..", "'/a b:/c#d e', '/c#d e'"})
    void targetsAreCleaned(String entry, String target) {
        assertThat(ContainerMount.parse(entry).target()).isEqualTo(target);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "'' | an entry is SRC",
                "/a: | an entry is SRC",
                "/a:/b:ro:rw | an entry is SRC",
                "data:/b | a source begins with",
                "tmpfs | needs the path inside",
                "umount | needs the path inside",
                "/a:b | must begin with /",
                "./a | must begin with /",
                "/a:/b/../../etc | must not contain '..'",
                "/a:/ | over the container's root",
                "/a:/. | over the container's root",
                "/a:/b:suid | the flag 'suid' is not known",
                "/a:/b:dev | the flag 'dev' is not known",
                "/a:/b:ro++rw | the flag '' is not known",
                "/a:/b:rslave | the flag 'rslave' is not known",
                "/a:/b:x-create=link | the flag 'x-create=link' is not known",
                "tmpfs:/b:size=9999999999999999999 | the flag 'size=9999999999999999999' is not known",
                "tmpfs:/b:huge=maybe | the flag 'huge=maybe' is not known",
                "/a:/b:size=1g | the flag 'size=1g' is not known",
                "tmpfs:/b:x-create=file | is not known for this mount; the flags are size=",
                "umount:/b:ro | is not known for this mount; the only flag is x-detach",
            })
    void refusals(String entry, String words) {
        assertThatThrownBy(() -> ContainerMount.parse(entry))
                .isInstanceOf(ContainerFormatException.class)
                .hasMessageStartingWith("the mount '" + entry + "': ")
                .hasMessageContaining(words);
    }

    @Test
    void fuzzedEntriesAreCleanOrRefusedInOneSentence() {
        Random random = new Random(Long.getLong("jrun.test.seed", 1));
        for (int i = 0; i < CASES; i++) {
            String text = IntStream.range(0, 1 + random.nextInt(8))
                    .mapToObj(_ -> PIECES.get(random.nextInt(PIECES.size())))
                    .collect(Collectors.joining());
            try {
                for (ContainerMount mount : ContainerMount.parseAll(text)) {
                    assertThat(mount.target())
                            .as(text)
                            .startsWith("/")
                            .doesNotContain("\n", "//")
                            .isNotEqualTo("/");
                    assertThat(mount.target().split("/")).as(text).doesNotContain("..", ".");
                    assertThat(ContainerMount.parseAll(mount.text())).as(text).containsExactly(mount);
                }
            } catch (ContainerFormatException e) {
                assertThat(e).hasMessageStartingWith("the mount '");
            }
        }
    }
}
