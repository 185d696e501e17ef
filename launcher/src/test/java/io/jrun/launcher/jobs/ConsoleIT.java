package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The output of a job for users and programs. */
class ConsoleIT extends RealJobs {
    private static final String SPEAK = "echo out $RANK; echo err $RANK >&2";
    private static final int RANKS = 8;

    /** Runs a command on a terminal of its own. */
    private static final List<String> TERMINAL = List.of(
            "python3", "-c", "import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))");

    @Test
    void streamsStayApart() {
        Result result = jrun.run("--nproc-per-node=2", "sh", "-c", SPEAK);
        assertThat(words(result.out())).containsExactlyInAnyOrder("out 0", "out 1");
        assertThat(words(result.err())).containsExactlyInAnyOrder("err 0", "err 1");
        assertThat(jrun.logs().resolve("attempt-0/rank-0001/stdout.log")).hasContent("out 1");
        assertThat(jrun.logs().resolve("attempt-0/rank-0001/stderr.log")).hasContent("err 1");
    }

    @Test
    void redirectedStreamsGoToFilesOnlyAndTeedOnesToBoth() {
        Result result = jrun.run("--nproc-per-node=3", "-r", "0:3,1:1", "--tee=0:2", "sh", "-c", SPEAK);
        assertThat(words(result.out())).containsExactly("out 2");
        assertThat(words(result.err())).containsExactlyInAnyOrder("err 0", "err 1", "err 2");
        assertThat(jrun.logs().resolve("attempt-0/rank-0000/stdout.log")).hasContent("out 0");
    }

    @Test
    void filtersChooseRanks() {
        Result result =
                jrun.run("--nproc-per-node=4", "--ranks-filter=1-3", "--local-ranks-filter=0,3", "sh", "-c", SPEAK);
        assertThat(words(result.out())).containsExactly("out 3");
        assertThat(words(result.err())).containsExactly("err 3");
    }

    @Test
    void linesWithoutAPrefixAreThoseOfTheWorker() {
        Result result = jrun.run("--nproc-per-node=2", "--ranks-filter=1", "--no-prefix", "sh", "-c", SPEAK);
        assertThat(result.out()).isEqualTo("out 1\n");
        assertThat(result.err()).isEqualTo("err 1\n");
    }

    @Test
    void filtersThatChooseNoRankAreRefused() {
        Result result = jrun.run("--nproc-per-node=2", "--ranks-filter=2-9", "touch", "started");
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err()).hasLineCount(1).contains("--ranks-filter", "the job has ranks 0 to 1");
        assertThat(folder.resolve("started")).doesNotExist();
        assertThat(jrun.run("--dry-run", "--local-ranks-filter=1", "true").exitCode())
                .isEqualTo(2);
    }

    @Test
    void filtersOfAnElasticJobMayNameRanksThatComeLaterAndNoOthers() {
        String[] elastic = {"--dry-run", "--nnodes=1:2", "--hosts=a:1,b:3,c:2", "--local-ranks-filter=2,7", "true"};
        assertThat(jrun.run(StandingAgent.join(new String[] {"--ranks-filter=4"}, elastic))
                        .exitCode())
                .as("the largest world is that of b and c")
                .isZero();
        Result result = jrun.run(StandingAgent.join(new String[] {"--ranks-filter=5-9"}, elastic));
        assertThat(result.exitCode()).isEqualTo(2);
        assertThat(result.err())
                .hasLineCount(1)
                .contains(
                        "--ranks-filter",
                        "with all of its nodes the job has ranks 0 to 4, and on a node local ranks 0 to 2");
        assertThat(jrun.run("--dry-run", "--nnodes=1:2", "--hosts=a:1,b:1", "--local-ranks-filter=1", "true")
                        .exitCode())
                .isEqualTo(2);
    }

    @Test
    void noLineOfEightRanksIsTornOrLost() throws IOException {
        Files.writeString(folder.resolve("write.py"), CheckedLines.WRITER);
        Running job = jrun.start("--nproc-per-node=" + RANKS, "python3", "write.py");
        assertThat(job.await().exitCode()).as(job.err()).isZero();
        for (int rank = 0; rank < RANKS; rank++) {
            Path logs = jrun.logs().resolve("attempt-0/rank-%04d".formatted(rank));
            for (String stream : List.of("out", "err")) {
                List<String> shown = linesOf(rank, stream.equals("out") ? job.outFile() : job.errFile());
                CheckedLines.assertComplete(shown, rank, stream);
                assertThat(latin1(logs.resolve("std" + stream + ".log"))).isEqualTo(String.join("\n", shown));
            }
        }
    }

    @Test
    void piecesOfALineOfMoreThanAMebibyteAreMarked() {
        Result result = jrun.run("python3", "-c", "print('x' * 2500000); print('end')");
        assertThat(result.out()
                        .lines()
                        .map(line -> line.replaceFirst("@[^]+]+", "").replaceFirst("x+", "x")))
                .containsExactly("[0] x", "[0+] x", "[0+] x", "[0] end");
        assertThat(words(result.out()).stream().mapToInt(String::length).sum()).isEqualTo(2500003);
    }

    /** The lines of a rank on the console, without prefix. Latin-1 keeps every byte as it is. */
    private static List<String> linesOf(int rank, Path console) throws IOException {
        Pattern prefixed =
                Pattern.compile("^\\[" + rank + "@[^]\n]+] ([^\n]*)\n", Pattern.MULTILINE | Pattern.UNIX_LINES);
        return prefixed.matcher(latin1(console))
                .results()
                .map(match -> match.group(1))
                .toList();
    }

    private static String latin1(Path file) throws IOException {
        return Files.readString(file, StandardCharsets.ISO_8859_1);
    }

    @Test
    void coloursAreForTerminalsWithoutNoColor() {
        String[] job = {"sh", "-c", "echo out; echo err >&2"};
        assertThat(jrun.startUnder(TERMINAL, job).await().out())
                .containsPattern("\033\\[36m\\[0@[^]]+]\033\\[0m out\r\n")
                .containsPattern("\033\\[36m\\[0@[^]]+]\033\\[0m err\r\n");
        assertThat(jrun.run(job).out()).matches("\\[0@[^]]+] out\n");
        assertThat(jrun.with("NO_COLOR", "1").startUnder(TERMINAL, job).await().out())
                .containsPattern("\\[0@[^]]+] out\r\n")
                .doesNotContain("\033");
    }

    @Test
    void resultForMachinesIsTheOnlyLineOnStdout() throws IOException {
        Result result = jrun.run("--json", "--nproc-per-node=2", "sh", "-c", "echo out; exit $((5 * RANK))");
        assertThat(result.exitCode()).isEqualTo(5);
        assertThat(words(result.err())).contains("out");
        assertThat(result.out()).hasLineCount(1);
        JsonNode json = new JsonMapper().readTree(result.out());
        assertThat(json.get("runId").asText()).isEqualTo(jrun.runId());
        assertThat(json.get("exitCode").asInt()).isEqualTo(5);
        assertThat(json.get("cause").get("kind").asText()).isEqualTo("workerFailed");
        assertThat(json.get("cause").get("rank").asInt()).isEqualTo(1);
        assertThat(json.get("workers")).hasSize(2);
    }

    @Test
    void dryRunShowsTheRankMapAndStartsNothing() throws IOException {
        String[] job = {"--dry-run", "--nproc-per-node=2", "sh", "-c", "echo $RANK", "${rank}/${local_rank}"};
        Result table = jrun.run(job);
        assertThat(table.out().lines().map(line -> line.strip().replaceAll(" +", " ")))
                .satisfiesExactly(
                        line -> assertThat(line).isEqualTo("RANK NODE LOCAL RANK DEVICE COMMAND"),
                        line -> assertThat(line).matches("0 \\S+ 0 - \\S+/sh -c 'echo \\$RANK' 0/0"),
                        line -> assertThat(line).matches("1 \\S+ 1 - \\S+/sh -c 'echo \\$RANK' 1/1"));
        Result json =
                jrun.run(Stream.concat(Stream.of("--json"), Stream.of(job)).toArray(String[]::new));
        JsonNode ranks = new JsonMapper().readTree(json.out()).get("ranks");
        assertThat(ranks).hasSize(2);
        assertThat(ranks.get(1).toString())
                .matches("\\{\"rank\":1,\"host\":\"[^\"]+\",\"nodeRank\":0,\"localRank\":1,\"device\":\"\","
                        + "\"command\":\\[\"[^\"]+/sh\",\"-c\",\"echo \\$RANK\",\"1/1\"]}");
        assertThat(folder.resolve("logs")).doesNotExist();
    }

    @Test
    void argumentsSurviveTheCLocale() {
        String[] odd = {"a b", "", "'q\"", "$HOME", "gr\u00fc\u00dfe \u20ac \ud83d\ude80", "--help", "@x", "tab\there"};
        String[] command = new String[odd.length + 4];
        command[0] = "sh";
        command[1] = "-c";
        command[2] = "for a; do echo \"<$a>\"; done; echo \"locale=$LC_ALL\"";
        command[3] = "sh";
        System.arraycopy(odd, 0, command, 4, odd.length);
        Result result = jrun.with("LC_ALL", "C").run(command);
        assertThat(words(result.out()))
                .containsExactly(
                        "<a b>",
                        "<>",
                        "<'q\">",
                        "<$HOME>",
                        "<gr\u00fc\u00dfe \u20ac \ud83d\ude80>",
                        "<--help>",
                        "<@x>",
                        "<tab\there>",
                        "locale=C");
    }

    @Test
    void twoJobsAtOnceDoNotMeet() {
        Running first = jrun.start("--nproc-per-node=2", "sh", "-c", "echo first $MASTER_PORT; exec sleep 100");
        first.awaitOutput("[0@").awaitOutput("[1@");
        Result second = jrun.run("--nproc-per-node=2", "sh", "-c", "echo second $MASTER_PORT");
        assertThat(second.exitCode()).isZero();
        assertThat(words(second.out()).getFirst().replace("second ", ""))
                .isNotEqualTo(words(first.out()).getFirst().replace("first ", ""));
        first.signal("TERM");
        assertThat(first.await().exitCode()).isEqualTo(143);
    }

    /** The lines without their prefix. */
    private static List<String> words(String output) {
        return output.lines()
                .map(line -> line.replaceFirst("^\\[\\d+@[^]]+] ", ""))
                .toList();
    }
}
