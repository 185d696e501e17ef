package io.jrun.examples.gpt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.examples.options.InvalidArgumentException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DeepSpeedConfigTest {
    private static DeepSpeedConfig parse(String text, int ranks) {
        return DeepSpeedConfig.parse("ds.json", text, List.of(), ranks);
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
                        "--betas=0.9,0.999",
                        "--lr=0.001",
                        "--lr-schedule=constant",
                        "--warmup=7",
                        "--warmup-curve=linear",
                        "--zero=2",
                        "--shard=2",
                        "--clip=1.0",
                        "--precision=bf16",
                        "--log-every=5");
        assertThat(config.notes())
                .containsExactly(
                        "note: ds.json: zero_optimization.reduce_bucket_size is ignored: buckets have DDP's sizes",
                        "note: ds.json: zero_optimization.offload_param.device is ignored: the states are in host"
                                + " memory without the key too");
    }

    /** The forms of the documentation of DeepSpeed and of Hugging Face, and of launchers that build on both. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                // all numbers left to the trainer
                "'train_batch_size':'auto','train_micro_batch_size_per_gpu':'auto','gradient_accumulation_steps':'auto',"
                        + "'fp16':{'enabled':'auto','loss_scale':0},'bf16':{'enabled':'auto'},'zero_optimization':{'stage':2,"
                        + "'round_robin_gradients':true} | 2 | --optimizer=fused --zero=2 --shard=2",
                "'zero_optimization':{'stage':3,'sub_group_size':0,'prefetch_bucket_size':'auto','max_live_parameters':0,"
                        + "'gather_16bit_weights_on_model_save':true},'bf16':{'enabled':true}"
                        + " | 4 | --optimizer=fused --zero=3 --shard=4 --precision=bf16",
                // AdamW as in the tutorials, with the default warm-up
                "'train_batch_size':4,'optimizer':{'type':'Adam','params':{'lr':1e-3,'betas':[0.8,0.99],'eps':1e-6,"
                        + "'weight_decay':3e-7}},'scheduler':{'type':'WarmupLR','params':{'warmup_min_lr':0,"
                        + "'warmup_max_lr':2e-3,'warmup_num_steps':500}},'fp16':{'enabled':true,'loss_scale_window':500},"
                        + "'zero_optimization':{'stage':1,'cpu_offload':true}"
                        + " | 2 | --micro-batch=2 --accumulate=1 --optimizer=fused --betas=0.8,0.99 --eps=1.0E-6"
                        + " --weight-decay=3.0E-7 --lr=0.001 --lr-schedule=constant --warmup=500 --warmup-curve=log"
                        + " --lr=0.002 --zero=1 --shard=2 --precision=f16",
                "'scheduler':{'type':'WarmupDecayLR','params':{'total_num_steps':90,'warmup_num_steps':9,'warmup_type':"
                        + "'linear'}} | 1 | --lr-schedule=linear --lr-floor=0 --steps=90 --warmup=9 --warmup-curve=linear",
                "'scheduler':{'type':'WarmupCosineLR','params':{'total_num_steps':90,'warmup_num_steps':9}}"
                        + " | 1 | --lr-schedule=cosine --lr-floor=1.0E-4 --steps=90 --warmup=9 --warmup-curve=log",
                "'optimizer':{'type':'SGD','params':{'lr':0.1,'max_grad_norm':0.5}}"
                        + " | 1 | --optimizer=sgd --momentum=0.0 --lr=0.1 --clip=0.5",
                "'optimizer':{'type':'SGD','params':{'lr':0.1}},'sequence_parallel_size':2,'zero_optimization':{'stage':1}"
                        + " | 4 | --cp=2 --cp-exchange=ulysses --optimizer=fused-sgd --momentum=0.0 --lr=0.1 --zero=1"
                        + " --shard=2",
                // ZeRO-Infinity
                "'train_micro_batch_size_per_gpu':4,'zero_optimization':{'stage':3,'offload_optimizer':{'device':'nvme',"
                        + "'nvme_path':'/n','buffer_count':4},'offload_param':{'device':'nvme','nvme_path':'/n'}},"
                        + "'aio':{'queue_depth':16} | 2 | --micro-batch=4 --accumulate=1 --optimizer=fused --zero=3"
                        + " --shard=2 --offload=/n",
                // MiCS, hpZ of ZeRO++, automatic tensor parallelism, Ulysses
                "'zero_optimization':{'stage':3,'mics_shard_size':2} | 4 | --optimizer=fused --zero=3 --shard=2",
                "'zero_optimization':{'stage':3,'zero_hpz_partition_size':2}"
                        + " | 4 | --optimizer=fused --zero=3 --shard=4 --reshard-after-forward=2",
                "'train_batch_size':4,'tensor_parallel':{'autotp_size':2},'sequence_parallel_size':2,"
                        + "'zero_optimization':{'stage':3} | 8 | --tp=2 --cp=2 --cp-exchange=ulysses --micro-batch=2"
                        + " --accumulate=1 --optimizer=fused --zero=3 --shard=2",
                // objects that are not enabled
                "'amp':{'enabled':false,'opt_level':'O1'},'elasticity':{'enabled':false,'max_train_batch_size':9},"
                        + "'tensorboard':{'enabled':true,'output_path':'x'},'flops_profiler':{'profile_step':1},"
                        + "'communication_data_type':'fp32','prescale_gradients':false | 1 | ''",
            })
    void realConfigurationsBecomeOptions(String members, int ranks, String options) {
        List<String> found = parse(json(members), ranks).options();
        assertThat(String.join(" ", found)).isEqualTo(options.equals("''") ? "" : options);
        assertThat(GptOptions.parse(found.toArray(String[]::new))).isPresent();
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
                "'train_batch_size':4,'zero_optimisation':{'stage':1} | zero_optimisation.stage: this program does not know the key. Did you mean zero_optimization.stage?",
                "'train_batch_size':4,'zero_optimization':{'stage':4} | the stages are 0 to 3, not 4",
                "'train_batch_size':4,'fp16':{'enabled':true},'bf16':{'enabled':true} | fp16.enabled: bf16 is enabled too",
                "'amp':{'enabled':true} | amp.enabled: use bf16 or fp16",
                "'pipeline':{'stages':2} | pipeline.stages: give --pp=N on the command line",
                "'elasticity':{'enabled':true} | elasticity.enabled: use --dp and jrun's --nnodes=MIN:MAX",
                "'zero_optimization':{'stage':2,'mics_shard_size':2} | mics_shard_size: needs stage 3",
                "'zero_optimization':{'stage':3,'mics_shard_size':3} | 3 does not divide the 4 data ranks",
                "'zero_optimization':{'stage':3,'offload_param':{'device':'gpu'}} | the devices are none, cpu and nvme",
                "'scheduler':{'type':'OneCycle','params':{'cycle_min_lr':0}} | scheduler.type: this program maps WarmupLR,",
                "'scheduler':{'type':'WarmupLR','params':{'last':1}} | does not know the key for WarmupLR",
                "'scheduler':{'type':'WarmupLR','params':{'warmup_min_lr':1e-6}} | warmup_min_lr: this program warms up from 0",
                "'scheduler':{'type':'WarmupLR','params':{'warmup_type':'cubic'}} | the types are log and linear, not cubic",
                "'tensor_parallel':{'autotp_size':3} | the ranks of --tp, --pp and --cp are 3, which does not divide",
                "'optimizer':{'type':'AdamW','params':{'betas':['a',1]}} | betas: expected numbers, not a",
                "'optimizer':{'type':'AdamW','params':{'bias_correction':false}} | bias_correction: AdamW corrects the bias",
                "'train_batch_size':4,'optimizer':{'type':'Lamb'} | optimizer.type: this program has AdamW and SGD, not Lamb",
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

    /** The ranks of --tp on the command line are none of DeepSpeed's ranks. */
    @Test
    void theFileLeavesTheRanksOfTheCommandLine() {
        List<String> options = DeepSpeedConfig.parse(
                        "ds.json",
                        json("'train_batch_size':8,'zero_optimization':{'stage':3}"),
                        List.of("--tp", "2", "--dp=2"),
                        8)
                .options();
        assertThat(options)
                .containsExactly("--micro-batch=2", "--accumulate=1", "--optimizer=fused", "--zero=3", "--shard=2");
    }

    private static String json(String members) {
        return "{" + members.replace('\'', '"') + "}";
    }
}
