package io.jrun.trainer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.jrun.trainer.arguments.InvalidArgumentException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DeepSpeedConfigTest {
    private static final ModelOptions MODEL = ModelOptions.none(_ -> {
        throw new IllegalStateException("the test builds no model");
    });

    @TempDir
    private Path folder;

    /** The arguments of a command line with a file. */
    private TrainingArguments arguments(String text, int ranks, String... commandLine) throws IOException {
        Path file = Files.writeString(folder.resolve("ds.json"), text);
        return TrainingArguments.parse(
                        Stream.concat(Stream.of(commandLine), Stream.of("--deepspeed", file.toString()))
                                .toArray(String[]::new),
                        MODEL,
                        ranks)
                .orElseThrow();
    }

    /** The file gives what these words of a command line give. */
    private static void assertEqual(TrainingArguments found, String words) {
        String[] args = words.equals("''") ? new String[0] : words.split(" ", -1);
        TrainingArguments expected = TrainingArguments.parse(args, MODEL, 1).orElseThrow();
        assertThat(found.withNotes(List.of())).isEqualTo(expected);
    }

    @Test
    void aUsualConfigurationFillsTheArguments() throws IOException {
        TrainingArguments filled = arguments("""
                {"train_batch_size": 32, "train_micro_batch_size_per_gpu": 4, "gradient_clipping": 1.0,
                 "bf16": {"enabled": true}, "fp16": {"enabled": false}, "steps_per_print": 5,
                 "optimizer": {"type": "AdamW", "params": {"lr": 0.001, "betas": [0.9, 0.999], "weight_decay": "auto"}},
                 "scheduler": {"type": "WarmupLR", "params": {"warmup_type": "linear", "warmup_num_steps": 7}},
                 "zero_optimization": {"stage": 2, "reduce_bucket_size": 5e8, "offload_param": {"device": "cpu"}}}
                """, 2);
        assertEqual(
                filled,
                "--micro-batch=4 --accumulate=4 --optimizer=fused --betas=0.9,0.999 --lr=0.001 --lr-schedule=constant"
                        + " --warmup=7 --warmup-curve=linear --zero=2 --shard=2 --clip=1.0 --precision=bf16"
                        + " --log-every=5");
        String note = "note: " + folder.resolve("ds.json") + ": zero_optimization.";
        assertThat(filled.notes())
                .containsExactly(
                        note + "reduce_bucket_size is ignored: buckets have DDP's sizes",
                        note + "offload_param.device is ignored: the states are in host memory without the key too");
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
                "'compression_training':{'weight_quantization':{'shared_parameters':{'enabled':false},'different_groups':"
                        + "{'wq1':{'params':{'bits':8}}}}},'data_efficiency':{'enabled':false,'seed':7,'data_sampling':"
                        + "{'enabled':true}} | 1 | ''",
                // DeepSpeed's old form of ZeRO
                "'optimizer':{'type':'Adam'},'zero_optimization':true | 2 | --optimizer=fused --zero=1 --shard=2",
                "'optimizer':{'type':'Adam'},'zero_optimization':false | 2 | --optimizer=fused",
                "'torch_autocast':{'enabled':true,'dtype':'torch.float16'} | 1 | --precision=f16",
                "'torch_autocast':{'enabled':true},'bf16':{'enabled':true} | 1 | --precision=bf16",
                // documented keys with their default
                "'scheduler':{'type':'WarmupLR','params':{'last_batch_iteration':-1}}"
                        + " | 1 | --lr-schedule=constant --warmup=1000 --warmup-curve=log",
                "'scheduler':{'type':'WarmupDecayLR','params':{'total_num_steps':9,'last_batch_iteration':-1}}"
                        + " | 1 | --lr-schedule=linear --lr-floor=0 --steps=9 --warmup=1000 --warmup-curve=log",
                "'scheduler':{'type':'WarmupCosineLR','params':{'total_num_steps':9,'last_batch_iteration':-1}}"
                        + " | 1 | --lr-schedule=cosine --lr-floor=1.0E-4 --steps=9 --warmup=1000 --warmup-curve=log",
                "'fp16':{'enabled':false,'auto_cast':false,'loss_scale':0,'initial_scale_power':16,'loss_scale_window':1000,"
                        + "'hysteresis':2,'consecutive_hysteresis':false,'min_loss_scale':1,'fp16_master_weights_and_grads':"
                        + "false},'bf16':{'bf16_master_weights_and_grads':false,'bf16_optimizer_states':false},"
                        + "'gradient_allreduce_op':'mean','managed_gradient_accumulation':true,'gradient_predivide_factor':1.0,"
                        + "'data_types':{'grad_accum_dtype':null},'communication_data_type':null,"
                        + "'seq_parallel_communication_data_type':'fp32','sparse_gradients':false | 1 | ''",
                "'zero_optimization':{'stage':0,'allgather_partitions':true,'allgather_bucket_size':5e8,'compute_grad_norm':true,"
                        + "'overlap_comm':false,'reduce_scatter':true,'reduce_bucket_size':5e8,'contiguous_gradients':true,"
                        + "'load_from_fp32_weights':true,'round_robin_gradients':false,'parameter_alignment':false,"
                        + "'stage3_max_live_parameters':1e9,'stage3_max_reuse_distance':1e9,'stage3_prefetch_bucket_size':5e8,"
                        + "'stage3_param_persistence_threshold':1e5,'sub_group_size':1e9,'elastic_checkpoint':false,"
                        + "'stage3_gather_16bit_weights_on_model_save':false,'stage3_module_granularity_threshold':0,"
                        + "'ignore_unused_parameters':true,'zero_hpz_partition_size':1,'zero_quantized_weights':false,"
                        + "'zero_quantized_gradients':false,'log_trace_cache_warnings':false,'cpu_offload':false,"
                        + "'save_muon_momentum_buffer_in_memory':false},'tensor_parallel':{'autotp_size':0,'preset_model':null,"
                        + "'tp_overlap_comm':false,'vocab_parallel_lm_head':false,'partition_config':{'layer_specs':[]}},"
                        + "'optimizer':{'type':'Adam','params':{'torch_adam':false,'adam_w_mode':true,'amsgrad':false}},"
                        + "'pipeline':{'stages':'auto','partition':'best','seed_layers':false,"
                        + "'activation_checkpoint_interval':0,'pipe_partitioned':true,'grad_partitioned':true}"
                        + " | 1 | --optimizer=fused",
            })
    void realConfigurationsFillTheArguments(String members, int ranks, String options) throws IOException {
        assertEqual(arguments(json(members), ranks), options);
    }

    @ParameterizedTest
    @CsvSource({"--deepspeed", "--deepspeed="})
    void theOptionNeedsAValue(String argument) {
        assertThatThrownBy(() -> TrainingArguments.parse(new String[] {"--tiny", argument}, MODEL, 1))
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
    void twoBatchSizesGiveTheThird(String members, int ranks, String options) throws IOException {
        assertEqual(arguments(json(members), ranks), options);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "'train_batch_size':31,'train_micro_batch_size_per_gpu':2,'gradient_accumulation_steps':3 |"
                        + " train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size: 31 != 2 * 3 * 4",
                "'train_batch_size':4,'zero_optimisation':{'stage':1} | zero_optimisation: this program does not know the key. Did you mean zero_optimization?",
                "'train_batch_size':4,'zero_optimization':{'stage':4} | the stages are 0 to 3, not 4",
                "'train_batch_size':4,'fp16':{'enabled':true},'bf16':{'enabled':true} | fp16.enabled: bf16 is enabled too",
                "'amp':{'enabled':true} | amp.enabled: use bf16 or fp16",
                "'pipeline':{'stages':2} | pipeline.stages: give --pp=N on the command line",
                "'elasticity':{'enabled':true} | elasticity.enabled: use --dp and jrun's --nnodes=MIN:MAX",
                "'zero_optimization':{'stage':2,'mics_shard_size':2} | mics_shard_size: needs stage 3",
                "'zero_optimization':{'mics_shard_size':2} | mics_shard_size: needs stage 3",
                "'zero_optimization':{'zero_hpz_partition_size':2} | zero_hpz_partition_size: needs stage 3",
                "'optimizer':{'params':{'betas':[0.8,0.9]}} | optimizer.params.betas: needs optimizer.type, such as AdamW",
                "'optimizer':{'params':{'lr':0.1}},'zero_optimization':{'stage':1} | optimizer.params.lr: needs optimizer.type",
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
                "'train_batch_size':'four' | train_batch_size: expected a whole number, not 'four'",
                // sections of another form
                "'zero_optimization':1 | zero_optimization: expected an object such as {'stage': 1}, not 1",
                "'zero_optimization':[1] | zero_optimization: expected an object such as {'stage': 1}, not [1]",
                "'zero_optimization':{'stage':1,'offload_optimizer':true} | zero_optimization.offload_optimizer: expected an object such as {'device': 'cpu'}, not true",
                "'zero_optimization':{'stage':3,'offload_param':false} | offload_param: expected an object such as {'device': 'cpu'}, not false",
                "'bf16':true | bf16: expected an object such as {'enabled': true}, not true",
                "'bf16':'auto' | bf16: expected an object such as {'enabled': true}, not auto",
                "'bfloat16':false | bfloat16: expected an object such as {'enabled': true}, not false",
                "'fp16':1 | fp16: expected an object such as {'enabled': true}, not 1",
                "'torch_autocast':true | torch_autocast: expected an object such as",
                "'amp':true | amp: expected an object such as",
                "'flops_profiler':true | flops_profiler: expected an object such as {'enabled': true}, not true",
                "'activation_checkpointing':true | activation_checkpointing: expected an object such as {'partition_activations': true}, not true",
                "'optimizer':'AdamW' | optimizer: expected an object such as {'type': 'AdamW'}, not AdamW",
                "'optimizer':{'type':'AdamW','params':3} | optimizer.params: expected an object such as {'lr': 0.001}, not 3",
                "'optimizer':{'type':'Adam','params':{'adam_w_mode':0}} | optimizer.params.adam_w_mode: expected true or false, not 0",
                "'optimizer':{'type':'AdamW','params':{'bias_correction':'false'}} | bias_correction: expected true or false, not 'false'",
                "'scheduler':{'type':'WarmupLR','params':true} | scheduler.params: expected an object such as {'warmup_num_steps': 100}, not true",
                "'zero_optimization':{'stage':3,'zero_quantized_gradients':true,'zenflow':{'enabled':false}} | zero_quantized_gradients: gradients are divided once",
                // numbers of things
                "'train_batch_size':0 | train_batch_size: expected at least 1, not 0",
                "'train_micro_batch_size_per_gpu':-2 | train_micro_batch_size_per_gpu: expected at least 1, not -2",
                "'gradient_accumulation_steps':0 | gradient_accumulation_steps: expected at least 1, not 0",
                "'steps_per_print':0 | steps_per_print: expected at least 1, not 0",
                "'scheduler':[] | scheduler: expected an object such as {'type': 'WarmupLR'}, not []",
                "'gradient_clipping':{'enabled':true} | gradient_clipping: expected a value, not an object",
                "'bf16':{'enabled':{'x':true}} | bf16.enabled: expected a value, not an object",
                "'bf16':{'enabled':1} | bf16.enabled: expected true or false, not 1",
                "'bf16':{'enable':true} | bf16.enable: this program does not know the key. Did you mean bf16.enabled?",
                "'fp16':{'loss_scal':0} | fp16.loss_scal: this program does not know the key. Did you mean fp16.loss_scale?",
                "'zero_optimisation':{} | zero_optimisation: this program does not know the key. Did you mean zero_optimization?",
                "'optimizer':{'type':'AdamW','params':{'betas':0.9}} | betas: expected two numbers, not 0.9",
                "'zero_optimization':{'stage':3,'offload_param':{'device':'nvme','nvme_path':3}} | nvme_path: expected the path of a folder, not 3",
                // numbers out of the ranges of the options
                "'optimizer':{'type':'AdamW','params':{'lr':-1}} | optimizer.params.lr: expected a number of at least 0.0, not -1",
                "'optimizer':{'type':'AdamW','params':{'lr':0}} | optimizer.params.lr: expected a number above 0",
                "'optimizer':{'type':'AdamW','params':{'betas':[0.9,1]}} | betas: expected 0 or more, and less than 1, not 1",
                "'optimizer':{'type':'SGD','params':{'momentum':1}} | momentum: expected a number below 1, and at least 0.0, not 1",
                "'optimizer':{'type':'SGD','params':{'weight_decay':-0.1}} | weight_decay: expected a number of at least 0.0, not -0.1",
                "'gradient_clipping':-1 | gradient_clipping: expected a number of at least 0.0, not -1",
                "'scheduler':{'type':'WarmupLR','params':{'warmup_num_steps':-3}} | warmup_num_steps: expected at least 0, not -3",
                "'scheduler':{'type':'WarmupCosineLR','params':{'cos_min_ratio':2}} | expected a number of at least 0.0 and at most 1, not 2",
                "'train_micro_batch_size_per_gpu':9000000 | train_micro_batch_size_per_gpu: expected at most 1048576, not 9000000",
                // keys in another place
                "'optimizer':{'type':'Adam','adam_w_mode':true} | optimizer.adam_w_mode: this program does not know the key in this place. Its place is optimizer.params.adam_w_mode",
                "'stage':2 | stage: this program does not know the key in this place. Its place is zero_optimization.stage",
                "'scheduler':{'type':'WarmupLR','warmup_num_steps':3} | scheduler.warmup_num_steps: this program does not know the key in this place. Its place is scheduler.params.warmup_num_steps",
                // documented keys with another value than the default
                "'scheduler':{'type':'WarmupLR','params':{'last_batch_iteration':7}} | last_batch_iteration: the schedule begins with the training",
                "'bf16':{'enabled':true,'bf16_master_weights_and_grads':true} | bf16.bf16_master_weights_and_grads: master weights, gradients and states are in float32",
                "'fp16':{'enabled':true,'fp16_master_weights_and_grads':true} | are in float32: give false",
                "'gradient_allreduce_op':'sum' | gradient_allreduce_op: gradients are averaged: give mean",
                "'managed_gradient_accumulation':false | give true",
                "'gradient_predivide_factor':0 | gradient_predivide_factor: gradients are divided once",
                "'communication_data_type':'fp16' | communication_data_type: gradients are divided once",
                "'optimizer':{'type':'AdamW','params':{'amsgrad':true}} | optimizer.params.amsgrad: this program has no such form",
                "'torch_autocast':{'enabled':true,'dtype':'int8'} | the types are bfloat16 and float16, not int8",
                "'torch_autocast':{'enabled':true,'dtype':'float16'},'bf16':{'enabled':true} | enable one of the two",
                "'hybrid_engine':{'enabled':true,'max_out_tokens':0} | hybrid_engine.enabled: this program has no such training",
                "'data_efficiency':{'data_sampling':{'enabled':true}} | data_efficiency.data_sampling.enabled: this program has no",
            })
    void mistakesAreOneLine(String members, String message) {
        assertThatThrownBy(() -> arguments(json(members), 4))
                .isInstanceOf(InvalidArgumentException.class)
                .hasMessageStartingWith("--deepspeed: " + folder.resolve("ds.json") + ": ")
                .hasMessageContaining(message.replace('\'', '"').replace("jrun\"s", "jrun's"));
    }

    @Test
    void theCommandLineOverridesTheFile() throws IOException {
        String text = json("'train_micro_batch_size_per_gpu':3,'gradient_clipping':0.5,'zero_optimization':{'stage':3},"
                + "'optimizer':{'type':'AdamW','params':{'lr':0.1,'betas':[0.8,0.9],'eps':1e-3,'weight_decay':0.5}},"
                + "'scheduler':{'type':'WarmupCosineLR','params':{'total_num_steps':90,'warmup_num_steps':9}}");
        assertEqual(
                arguments(text, 2, "--clip=2"),
                "--clip=2 --micro-batch=3 --accumulate=1 --zero=3 --shard=2 --optimizer=fused --lr=0.1 --betas=0.8,0.9"
                        + " --eps=1e-3 --weight-decay=0.5 --lr-schedule=cosine --lr-floor=1e-4 --steps=90 --warmup=9"
                        + " --warmup-curve=log");
        assertEqual(
                arguments(text, 2, "--lr=7", "--steps=5", "--warmup=1", "--lr-floor=0", "--shard=1", "--zero=0"),
                "--micro-batch=3 --accumulate=1 --optimizer=fused --lr=7 --betas=0.8,0.9 --eps=1e-3 --clip=0.5"
                        + " --weight-decay=0.5 --lr-schedule=cosine --lr-floor=0 --steps=5 --warmup=1"
                        + " --warmup-curve=log");
    }

    /** Without stage 3 no rank frees a layer after its forward pass. */
    @Test
    void aStageOfTheCommandLineCanMakeAKeyUseless() throws IOException {
        String text = json("'zero_optimization':{'stage':3,'zero_hpz_partition_size':2}");
        TrainingArguments overridden = arguments(text, 4, "--zero=2");
        assertEqual(overridden, "--zero=2 --shard=4 --optimizer=fused");
        assertThat(overridden.notes())
                .containsExactly("note: " + folder.resolve("ds.json") + ": zero_optimization.zero_hpz_partition_size is"
                        + " ignored: --zero=2 is given, and stage 3 uses the key");
        assertEqual(
                arguments(text.replace("3,", "2,"), 4, "--zero=3"),
                "--zero=3 --shard=4 --optimizer=fused --reshard-after-forward=2");
    }

    @Test
    void paramsFillTheOptimizerOfTheCommandLine() throws IOException {
        assertEqual(
                arguments(json("'optimizer':{'params':{'betas':[0.8,0.9]}}"), 1, "--optimizer=fused"),
                "--optimizer=fused --betas=0.8,0.9");
    }

    @Test
    void anOptimizerOfTheCommandLineHasItsOwnWeightDecay() throws IOException {
        String text = json("'optimizer':{'type':'AdamW','params':{'lr':0.1}}");
        assertEqual(arguments(text, 1, "--optimizer=sgd"), "--optimizer=sgd --lr=0.1");
    }

    /** DeepSpeed reads Hjson. */
    @Test
    void commentsAndCommasAndPlainKeysAreReadAndAnErrorHasItsPlace() throws IOException {
        String text = """
                {
                    # sizes
                    "train_micro_batch_size_per_gpu": 2, /* for each
                                                            rank */
                    gradient_clipping: 0.5, // as in the last run
                    'steps_per_print': 5,
                }
                """;
        assertEqual(arguments(text, 1), "--micro-batch=2 --accumulate=1 --clip=0.5 --log-every=5");
        String file = "--deepspeed: " + folder.resolve("ds.json");
        assertThatThrownBy(() -> arguments(text.replace("0.5,", "0.5"), 1))
                .hasMessage(file + ", line 6, column 5: found ''', expected ',' or '}'");
        assertThatThrownBy(() -> arguments(text.replace(": 5", ": five"), 1))
                .hasMessage(file + ", line 6, column 24: found 'five', expected a value");
        assertThatThrownBy(() -> arguments("{\"gradient_clipping\": 1, gradient_clipping: 1}", 1))
                .hasMessage(file + ", line 1, column 26: key 'gradient_clipping' occurs twice");
        Path latin = Files.write(folder.resolve("latin.json"), new byte[] {'{', '\n', '#', (byte) 0xE9, '\n', '}'});
        assertThatThrownBy(() -> TrainingArguments.parse(new String[] {"--deepspeed=" + latin}, MODEL, 1))
                .hasMessage("--deepspeed: cannot read " + latin + ": line 2 is not UTF-8 text");
    }

    /** The ranks of --tp on the command line are none of DeepSpeed's ranks. */
    @Test
    void theFileLeavesTheRanksOfTheCommandLine() throws IOException {
        String text = json("'train_batch_size':8,'zero_optimization':{'stage':3}");
        assertEqual(
                arguments(text, 8, "--tp", "2", "--dp=2"),
                "--tp=2 --dp=2 --micro-batch=2 --accumulate=1 --optimizer=fused --zero=3 --shard=2");
    }

    private static String json(String members) {
        return "{" + members.replace('\'', '"') + "}";
    }
}
