package io.jrun.launcher.jobs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jrun.launcher.jobs.JRun.Result;
import io.jrun.launcher.jobs.JRun.Running;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** Programs that were not made for jrun, and jars that carry other versions of what jrun carries. */
class ForeignCodeIT extends RealJobs {
    /** A torch.distributed script as its documentation shows, told everything by the environment. */
    private static final String TORCH_SCRIPT = """
            import torch
            import torch.distributed as dist

            dist.init_process_group("gloo", init_method="env://")
            t = torch.ones(3) * (dist.get_rank() + 1)
            dist.all_reduce(t)
            print("sum", t.tolist(), "of", dist.get_world_size(), flush=True)
            dist.destroy_process_group()
            """;

    @Test
    void unmodifiedTorchScriptsRunAlsoTwoAtOnce() throws IOException {
        String python = System.getenv().getOrDefault("JRUN_TEST_TORCH_PYTHON", "");
        assumeTrue(!python.isEmpty(), "skipped: JRUN_TEST_TORCH_PYTHON names no Python that has torch");
        Files.writeString(folder.resolve("script.py"), TORCH_SCRIPT);
        JRun other = new JRun(Files.createDirectory(folder.resolve("other")));
        Running first = jrun.start("--nproc-per-node=2", "--no-java", python, "script.py");
        Running second = other.start("--nproc-per-node=2", "--no-java", python, "../script.py");
        for (Result result : new Result[] {first.await(), second.await()}) {
            assertThat(result.exitCode()).as(result.err()).isZero();
            assertThat(result.sortedOut())
                    .filteredOn(line -> line.contains("sum"))
                    .hasSize(2)
                    .allSatisfy(line -> assertThat(line).endsWith("sum [3.0, 3.0, 3.0] of 2"));
        }
    }

    @Test
    void fatJarWithOtherVersionsDoesNoHarm() throws IOException {
        Path classes = folder.resolve("fat.jar.classes");
        Jars.compile(classes, "io.jrun.comm.Distributed", """
                package io.jrun.comm;
                public class Distributed {
                    public static World init() { throw new IllegalStateException("the jar's jrun was used"); }
                }
                """);
        Jars.compile(classes, "io.jrun.comm.worker.WorkerMain", """
                package io.jrun.comm.worker;
                public class WorkerMain {
                    public static void main(String[] args) { System.out.println("the jar's WorkerMain was used"); }
                }
                """);
        Jars.compile(classes, "com.google.protobuf.Message", """
                package com.google.protobuf;
                public class Message {
                    @Override public String toString() { return "the jar's protobuf"; }
                }
                """);
        Jars.program(folder.resolve("fat.jar"), "Fat", """
                public class Fat {
                    public static void main(String[] args) throws Exception {
                        Object message = Class.forName("com.google.protobuf.Message").getConstructor().newInstance();
                        try (var world = io.jrun.comm.Distributed.init()) {
                            world.group().barrier();
                            System.out.println(message + " and a world of " + world.size());
                        }
                    }
                }
                """);
        Result result = jrun.run("--nproc-per-node=2", "fat.jar");
        assertThat(result.exitCode()).as(result.err()).isZero();
        assertThat(result.sortedOut())
                .hasSize(2)
                .allSatisfy(line -> assertThat(line).endsWith("the jar's protobuf and a world of 2"));
    }
}
