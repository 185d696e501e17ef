package io.jrun.examples.gpt;

import io.jrun.trainer.Trainer;

/** Main class of train.jar: trains a language model on all ranks. */
public final class TrainGpt {
    private static final String USAGE = """
            usage: jrun [--nproc-per-node=N] train.jar [options]
            Trains a language model on text and reports its loss on text it has not seen. The ranks share the data,
            and with --shard also the states of the model. With --tp, --cp and --pp the ranks share the computation of a
            sequence.

            Examples
              jrun --nproc-per-node=2 train.jar
              jrun --nproc-per-node=gpu train.jar --device=cuda --precision=bf16 --optimizer=fused
              jrun --nproc-per-node=2 train.jar --shard=2 --model=llama --micro-batch=4 --global-batch=32
              jrun --nproc-per-node=4 train.jar --tp=2 --pp=2 --accumulate=4
              jrun --nproc-per-node=2 train.jar --data=book.txt --steps=1000 --checkpoint=out --resume --sample=500
              java -cp "train.jar:JRUN_HOME/lib/runtime/*" io.jrun.examples.gpt.TrainGpt --tiny

            """;

    private TrainGpt() {}

    /** Trains, see {@link Trainer#main}. */
    public static void main(String[] args) {
        Trainer.main("train.jar", USAGE, args, new GptModelOptions());
    }
}
