package io.jrun.examples.gpt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.examples.options.InvalidArgumentException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DeepSpeedConfigTest {
    private static DeepSpeedConfig parse(String text, int ranks) {
        return DeepSpeedConfig.parse("ds.json", text, ranks);
    }

    @Test
    void aUsualConfigurationBecomesOptions() {
        DeepSpeedConfig config = parse("""
                {"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4, "gradient_clipping": 1.0,
                 "bf16": {"enabled": true}, "fp16": {"enabled": false}, "steps_per_print": 5,
                 "optimizer": {"type": "AdamW", "params": {"lr": 0.001, "betas": [0.9, 0.999], "weight_decay": "auto"}},
                 "scheduler": {"type": "WarmupLR", "params": {"warmup_type": "linear", "warmup_num_steps": 7}},
                 "zero_optimization": {"stage": 2, "reduce_bucket_size": 5e8, "offload_param": {"device": "cpu"}}}
                """, 2);
        assertThat(config.options())
                .containsExactly(
                        "--micro-batch=4",
                        "--accumulate=4",
                        "--optimizer=fused",
                        "--lr=0.001",
                        "--lr-schedule=constant",
                        "--warmup=7",
                        "--zero=2",
                        "--shard=2",
                        "--clip=1.0",
                        "--precision=bf16",
                        "--log-every=5");
        assertThat(config.notes())
                .containsExactly(
                        "note: ds.json: zero_optimization.reduce_bucket_size is ignored: buckets have DDP's sizes");
    }

    @ParameterizedTest
    @CsvSource({"--deepspeed", "--deepspeed="})
    void theOptionNeedsAValue(String argument) {
        assertThatThrownBy(() -> DeepSpeedConfig.expand(new String[] {"--tiny", argument}, 1))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessage("--deepspeed needs a value");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "'train_batch_size':8 | 2 | --micro-batch=4 --accumulate=1",
                "'train_batch_size':8,'gradient_accumulation_steps':2 | 2 | --micro-batch=2 --accumulate=2",
                "'train_micro_batch_size_per_gpu':3 | 4 | --micro-batch=3 --accumulate=1",
            })
    void twoBatchSizesGiveTheThird(String members, int ranks, String options) {
        assertThat(String.join(" ", parse(json(members), ranks).options())).isEqualTo(options);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "'train_batch_size':31,'train_micro_batch_size_per_gpu':2,'gradient_accumulation_steps':3 |"
                        + " train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size: 31 != 2 * 3 * 4",
                "'zero_optimization':{'stage':1} | train_batch_size: give train_batch_size or",
                "'train_batch_size':4,'zero_optimisation':{'stage':1} | zero_optimisation.stage: this program does not know the key",
                "'train_batch_size':4,'zero_optimization':{'stage':4} | the stages are 0 to 3, not 4",
                "'train_batch_size':4,'fp16':{'enabled':true} | fp16.enabled: use bf16, or --precision=f16 instead",
                "'train_batch_size':4,'optimizer':{'type':'Lamb'} | optimizer.type: this program has AdamW and SGD, not Lamb",
                "'train_batch_size':4,'optimizer':{'type':'AdamW','params':{'eps':1e-6}} | eps: this program has 1.0E-8, not 1.0E-6",
                "'train_batch_size':4,'optimizer':{'type':'Adam','params':{'adam_w_mode':false}} | adam_w_mode: this program has AdamW",
                "'train_batch_size':4,'zero_optimization':{'stage':3,'offload_param':{'device':'nvme'}} | nvme needs nvme_path",
                "'train_batch_size':'four' | train_batch_size: expected a whole number, not four",
            })
    void mistakesAreOneLine(String members, String message) {
        assertThatThrownBy(() -> parse(json(members), 4))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessageStartingWith("--deepspeed: ds.json: ")
                .hasMessageContaining(message);
    }

    @Test
    void theCommandLineOverridesTheFile(@TempDir Path folder) throws IOException {
        Path file = Files.writeString(
                folder.resolve("ds.json"),
                json("'train_micro_batch_size_per_gpu':3,'gradient_clipping':0.5,'zero_optimization':{'stage':3}"));
        DeepSpeedConfig config = DeepSpeedConfig.expand(new String[] {"--clip=2", "--deepspeed", file.toString()}, 2);
        GptOptions options =
                GptOptions.parse(config.options().toArray(String[]::new)).orElseThrow();
        assertThat(options.recipe().update().clip()).isEqualTo(2);
        assertThat(options.microBatch()).isEqualTo(3);
        assertThat(options.parallel().zeroStage()).isEqualTo(3);
    }

    private static String json(String members) {
        return "{" + members.replace('\'', '"') + "}";
    }
}
