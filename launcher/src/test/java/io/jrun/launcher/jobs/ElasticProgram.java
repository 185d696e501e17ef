package io.jrun.launcher.jobs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** An elastic program that commits all the time, until it is told to end; on hosts that share their files. */
record ElasticProgram(Path jar, Path end) {
    /** Makes one in {@code folder}. */
    static ElasticProgram in(Path folder) {
        Path end = folder.resolve("end");
        Path jar = Jars.program(folder.resolve("commits.jar"), "Commits", """
                import io.jrun.comm.*;
                import io.jrun.comm.elastic.*;
                import java.lang.foreign.MemorySegment;
                import java.nio.file.*;
                public class Commits {
                    static int step;
                    static int saved;
                    public static void main(String[] args) throws Exception {
                        Elastic.run(new ElasticState() {
                            public void save() { saved = step; }
                            public void restore() { step = saved; }
                            public void broadcast(ProcessGroup group, int root) {
                                int[] value = {step};
                                group.broadcast(MemorySegment.ofArray(value), DataType.I32, 1, root);
                                step = value[0];
                            }
                        }, round -> {
                            System.out.println("rank " + round.world().rank() + " of " + round.world().size() + " (pid "
                                    + ProcessHandle.current().pid() + ") begins at step " + step);
                            float[] ends = {0};
                            while (ends[0] == 0) {
                                ends[0] = Files.exists(Path.of("%s")) ? 1 : 0;
                                round.group().allReduce(MemorySegment.ofArray(ends), DataType.F32, 1, ReduceOp.SUM);
                                step++;
                                round.commit();
                                Thread.sleep(10);
                            }
                        });
                    }
                }
                """.formatted(end));
        return new ElasticProgram(jar, end);
    }

    /** All its ranks return. */
    void finish() {
        try {
            Files.writeString(end, "");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
