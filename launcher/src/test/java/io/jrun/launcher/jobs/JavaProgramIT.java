package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;

import io.jrun.launcher.jobs.JRun.Result;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Runnable jars as workers. */
@Tag("alone") // on a busy machine a rank is late, and said to be
class JavaProgramIT extends RealJobs {
    @Test
    void workersMeet() {
        Jars.program(folder.resolve("meet.jar"), "Meet", """
                public class Meet {
                    public static void main(String[] args) {
                        try (var world = io.jrun.comm.Distributed.init()) {
                            long sum = world.store().add("sum", world.rank() + 1);
                            world.group().barrier();
                            long total = world.store().add("sum", 0);
                            System.out.println("total " + total + " of " + world.size());
                        }
                    }
                }
                """);
        Result result = jrun.run("--nproc-per-node=2", "meet.jar");
        assertThat(result.err()).isEmpty();
        assertThat(result.exitCode()).isZero();
        assertThat(result.sortedOut())
                .hasSize(2)
                .allSatisfy(line -> assertThat(line).endsWith("total 3 of 2"));
    }

    /** The runtime of an installed package has few modules. */
    @Test
    void workersOfAPackageRunOnTheJdkOfJavaHome() throws IOException {
        Jars.program(folder.resolve("java.jar"), "Java", """
                public class Java {
                    public static void main(String[] args) {
                        System.out.println("java of " + System.getProperty("chosen", "the package"));
                    }
                }
                """);
        Path jdk = Path.of(System.getProperty("java.home"));
        Path home = Homes.copy(folder.resolve("home"));
        Files.createSymbolicLink(home.resolve("jre"), jdk);
        Path chosen = folder.resolve("jdk");
        Files.createDirectories(chosen.resolve("bin"));
        Files.copy(jdk.resolve("release"), chosen.resolve("release"));
        Path java = Files.writeString(
                chosen.resolve("bin/java"), "#!/bin/sh\nexec " + jdk + "/bin/java -Dchosen=JAVA_HOME \"$@\"\n");
        Files.setPosixFilePermissions(java, PosixFilePermissions.fromString("rwx------"));
        jrun.with("JRUN_HOME", home.toString()).with("JRUN_JAVA_HOME", "");
        assertThat(jrun.with("JAVA_HOME", chosen.toString()).run("java.jar").out())
                .contains("java of JAVA_HOME");
        Files.writeString(chosen.resolve("release"), "JAVA_VERSION=\"21.0.1\"\n");
        assertThat(jrun.run("java.jar").out()).contains("java of the package");
    }

    @Test
    void aSourceFileIsCompiledOnceForAllRanks() throws IOException {
        jrun.with("XDG_CACHE_HOME", folder.resolve("cache").toString());
        Files.writeString(folder.resolve("Greeting.java"), "class Greeting { static final String TEXT = \"hello \"; }");
        Files.writeString(folder.resolve("Greet.java"), """
                import io.jrun.comm.Distributed;

                void main(String[] args) {
                    try (var world = Distributed.init()) {
                        System.out.println(Greeting.TEXT + args[0] + " of " + world.size());
                    }
                }
                """);
        Result result = jrun.run("--nproc-per-node=2", "Greet.java", "${rank}");
        assertThat(result.err()).isEmpty();
        assertThat(result.sortedOut()).hasSize(2).first().asString().endsWith("hello 0 of 2");

        Files.writeString(folder.resolve("Greet.java"), "void main() { undefined(); }");
        Result wrong = jrun.run("--nproc-per-node=2", "Greet.java");
        assertThat(wrong.exitCode()).isEqualTo(2);
        assertThat(wrong.err())
                .containsOnlyOnce("Greet.java:1: error: cannot find symbol")
                .endsWith("jrun: Greet.java does not compile; the compiler's messages are above.\n");
        assertThat(jrun.run("Greet.kt").err())
                .startsWith("jrun: Greet.kt: jrun compiles Java, not Kotlin. Run 'kotlinc ");
    }

    @Test
    void uncaughtExceptionIsReportedOnceWithItsStack() {
        Jars.program(folder.resolve("boom.jar"), "Boom", """
                public class Boom {
                    public static void main(String[] args) throws Exception {
                        if (System.getenv("RANK").equals("1")) {
                            throw new IllegalStateException("boom on purpose");
                        }
                        Thread.sleep(100_000);
                    }
                }
                """);
        Result result = jrun.run("--nproc-per-node=2", "-r3", "boom.jar");
        assertThat(result.exitCode()).isEqualTo(1);
        assertThat(result.err())
                .containsOnlyOnce("java.lang.IllegalStateException: boom on purpose")
                .containsOnlyOnce("at Boom.main(Boom.java:4)")
                .contains("first failure: rank 1 on ");
        assertThat(jrun.logs().resolve("attempt-0/rank-0001/error.json")).isNotEmptyFile();
    }

    @Test
    void ownExitCodeIsKept() {
        Jars.program(
                folder.resolve("exit.jar"),
                "Exit",
                "public class Exit { public static void main(String[] args) { System.exit(42); } }");
        assertThat(jrun.run("exit.jar").exitCode()).isEqualTo(42);
    }

    @Test
    void argumentsOptionsAndFoldersWithSpacesSurviveTheCLocale() throws Exception {
        Path odd = Files.createDirectories(folder.resolve("a folder \u00fc"));
        Jars.program(odd.resolve("my args.jar"), "Args", """
                public class Args {
                    public static void main(String[] args) {
                        for (String arg : args) {
                            System.out.println("<" + arg + ">");
                        }
                        System.out.println(System.getProperty("option") + " " + System.getenv("VARIABLE") + " "
                                + java.nio.file.Path.of("").toAbsolutePath().getFileName());
                    }
                }
                """);
        Result result = jrun.with("LC_ALL", "C")
                .run(
                        "--jvm-opts='-Doption=one two'",
                        "--env=VARIABLE=\u20ac x",
                        "--workdir=a folder \u00fc",
                        "-r",
                        "0",
                        "a folder \u00fc/my args.jar",
                        "a b",
                        "",
                        "gr\u00fc\u00dfe \u20ac",
                        "--help",
                        "${rank}");
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.out().replaceAll("(?m)^\\[0@[^]]+] ", ""))
                .isEqualTo("<a b>\n<>\n<gr\u00fc\u00dfe \u20ac>\n<--help>\n<0>\none two \u20ac x a folder \u00fc\n");
    }

    @Test
    void memoryThatRunsOutIsNamed() {
        Jars.program(folder.resolve("oom.jar"), "Oom", """
                public class Oom {
                    public static void main(String[] args) {
                        var all = new java.util.ArrayList<byte[]>();
                        while (true) {
                            all.add(new byte[1 << 20]);
                        }
                    }
                }
                """);
        Result result = jrun.run("--jvm-opts=-Xmx32m -XX:+HeapDumpOnOutOfMemoryError", "oom.jar");
        assertThat(result.exitCode()).isEqualTo(1);
        Path logs = jrun.logs().resolve("attempt-0/rank-0000");
        assertThat(result.err())
                .contains("first failure: rank 0 on ", "  java.lang.OutOfMemoryError: Java heap space")
                .containsPattern("  it left " + Pattern.quote(logs.toString()) + "/java_pid\\d+\\.hprof\n");
    }

    @Test
    void environmentOf100kBReachesTheWorker() {
        Jars.program(folder.resolve("env.jar"), "Env", """
                public class Env {
                    public static void main(String[] args) {
                        String big = System.getenv("BIG");
                        System.out.println(big.length() + " " + big.hashCode() + " " + System.getenv("LAST"));
                    }
                }
                """);
        String big = "0123456789".repeat(10_000);
        Result result = jrun.with("BIG", big).run("--env=LAST=end", "env.jar");
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.out()).endsWith("] 100000 " + big.hashCode() + " end\n");
    }

    @Test
    void manifestOpensPackages() throws IOException {
        Jars.program(folder.resolve("open.jar"), "Open", """
                public class Open {
                    public static void main(String[] args) throws Exception {
                        var field = String.class.getDeclaredField("hash");
                        field.setAccessible(true);
                        System.out.println("hash " + field.get(""));
                    }
                }
                """, Map.of("Add-Opens", "java.base/java.lang"));
        Result result = jrun.run("open.jar");
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.out()).endsWith("hash 0\n");
    }

    @Test
    void jdkWithoutTheVectorModuleServesToo() throws Exception {
        Path jdk = folder.resolve("small jdk");
        Process jlink = new ProcessBuilder(
                        System.getProperty("java.home") + "/bin/jlink",
                        "--add-modules=java.base,jdk.unsupported",
                        "--output=" + jdk)
                .redirectErrorStream(true)
                .start();
        String output = new String(jlink.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(jlink.waitFor()).as(output).isZero();
        Jars.program(folder.resolve("sum.jar"), "Sum", """
                public class Sum {
                    public static void main(String[] args) {
                        try (var world = io.jrun.comm.Distributed.init()) {
                            var data = world.group().allocate(8);
                            data.set(java.lang.foreign.ValueLayout.JAVA_FLOAT, 0, world.rank() + 1);
                            data.set(java.lang.foreign.ValueLayout.JAVA_FLOAT, 4, 10);
                            world.group().allReduce(
                                    data, io.jrun.comm.DataType.F32, 2, io.jrun.comm.ReduceOp.SUM);
                            System.out.println(data.get(java.lang.foreign.ValueLayout.JAVA_FLOAT, 0) + " "
                                    + data.get(java.lang.foreign.ValueLayout.JAVA_FLOAT, 4));
                        }
                    }
                }
                """);
        Result result = jrun.run("--nproc-per-node=2", "--java=" + jdk, "sum.jar");
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.err()).isEmpty();
        assertThat(result.sortedOut())
                .hasSize(2)
                .allSatisfy(line -> assertThat(line).endsWith("] 3.0 20.0"));
    }

    @Test
    void shutdownHooksRunWhenTheJobIsStopped() {
        Jars.program(folder.resolve("hook.jar"), "Hook", """
                public class Hook {
                    public static void main(String[] args) throws Exception {
                        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook ran")));
                        System.out.println("up");
                        Thread.sleep(100_000);
                    }
                }
                """);
        JRun.Running job = jrun.start("hook.jar");
        job.awaitOutput("up").signal("TERM");
        Result result = job.await();
        assertThat(result.exitCode()).isEqualTo(143);
        assertThat(result.out()).contains("hook ran");
    }
}
