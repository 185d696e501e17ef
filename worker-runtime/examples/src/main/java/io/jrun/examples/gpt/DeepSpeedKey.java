package io.jrun.examples.gpt;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The keys of DeepSpeed's configuration that this program knows, and the treatment of each key. docs/parallelism.md has
 * the same table. Source of the keys: DeepSpeed's docs/_pages/config-json.md.
 *
 * @param treatment what becomes of the key
 * @param words for {@code IGNORED} why, for {@code REFUSED} why and what to do
 */
record DeepSpeedKey(Treatment treatment, String words) {
    /** The treatment of a key. */
    enum Treatment {
        /** Becomes options of this program. */
        MAPPED,
        /** Changes nothing here; rank 0 says so. */
        IGNORED,
        /** Ends the program, unless the value has no effect. */
        REFUSED
    }

    /** All keys by their path, with dots between the levels. */
    static final Map<String, DeepSpeedKey> ALL = all();

    private static Map<String, DeepSpeedKey> all() {
        Map<String, DeepSpeedKey> keys = new LinkedHashMap<>();
        mapped(
                keys,
                "train_batch_size",
                "train_micro_batch_size_per_gpu",
                "gradient_accumulation_steps",
                "gradient_clipping",
                "steps_per_print",
                "bf16.enabled",
                "optimizer.type",
                "optimizer.params.lr",
                "optimizer.params.betas",
                "optimizer.params.eps",
                "optimizer.params.weight_decay",
                "optimizer.params.momentum",
                "optimizer.params.adam_w_mode",
                "scheduler.type",
                "scheduler.params.warmup_num_steps",
                "scheduler.params.warmup_max_lr",
                "scheduler.params.warmup_min_lr",
                "scheduler.params.warmup_type",
                "zero_optimization.stage",
                "zero_optimization.offload_param.device",
                "zero_optimization.offload_param.nvme_path",
                "zero_optimization.offload_optimizer.device");
        ignored(
                keys,
                "the states of the optimizer lie beside the parameters",
                "zero_optimization.offload_optimizer.nvme_path");
        ignored(
                keys,
                "states in host memory are the rule here; files are read one unit ahead",
                "zero_optimization.offload_optimizer.pin_memory",
                "zero_optimization.offload_optimizer.buffer_count",
                "zero_optimization.offload_optimizer.fast_init",
                "zero_optimization.offload_optimizer.pipeline_read",
                "zero_optimization.offload_optimizer.pipeline_write",
                "zero_optimization.offload_param.pin_memory",
                "zero_optimization.offload_param.buffer_count",
                "zero_optimization.offload_param.buffer_size",
                "zero_optimization.offload_param.max_in_cpu",
                "aio.block_size",
                "aio.queue_depth",
                "aio.thread_count",
                "aio.single_submit",
                "aio.overlap_events");
        ignored(
                keys,
                "buckets have DDP's sizes",
                "zero_optimization.reduce_bucket_size",
                "zero_optimization.allgather_bucket_size");
        ignored(
                keys,
                "gradients and parameters always travel so",
                "zero_optimization.contiguous_gradients",
                "zero_optimization.reduce_scatter",
                "zero_optimization.allgather_partitions",
                "zero_optimization.overlap_comm",
                "zero_optimization.round_robin_gradients");
        ignored(
                keys,
                "each block is a unit, and one unit is gathered ahead",
                "zero_optimization.sub_group_size",
                "zero_optimization.stage3_prefetch_bucket_size",
                "zero_optimization.stage3_param_persistence_threshold",
                "zero_optimization.stage3_max_live_parameters",
                "zero_optimization.stage3_max_reuse_distance");
        ignored(
                keys,
                "the states are those of the model and the optimizer",
                "zero_optimization.stage3_gather_16bit_weights_on_model_save",
                "zero_allow_untested_optimizer",
                "checkpoint.tag_validation",
                "checkpoint.load_universal");
        ignored(
                keys,
                "jrun always measures the phases of a step",
                "wall_clock_breakdown",
                "memory_breakdown",
                "dump_state");
        ignored(
                keys,
                "the loss scale belongs to fp16",
                "fp16.auto_cast",
                "fp16.loss_scale",
                "fp16.initial_scale_power",
                "fp16.loss_scale_window",
                "fp16.hysteresis",
                "fp16.consecutive_hysteresis",
                "fp16.min_loss_scale");
        ignored(keys, "fused kernels are chosen with optimizer.type", "optimizer.params.torch_adam");
        refused(keys, "use bf16, or --precision=f16 instead", "fp16.enabled");
        refused(
                keys,
                "use --recompute=N",
                "activation_checkpointing.partition_activations",
                "activation_checkpointing.cpu_checkpointing",
                "activation_checkpointing.number_checkpoints",
                "activation_checkpointing.contiguous_memory_optimization",
                "activation_checkpointing.synchronize_checkpoint_boundary",
                "activation_checkpointing.profile");
        refused(keys, "give --shard=N and --dp=N on the command line", "zero_optimization.zero_hpz_partition_size");
        refused(
                keys,
                "gradients are divided once, in their own type",
                "prescale_gradients",
                "gradient_predivide_factor",
                "communication_data_type");
        refused(keys, "give --tp=N on the command line", "tensor_parallel.autotp_size");
        refused(keys, "give --cp=N --cp-exchange=ulysses on the command line", "sequence_parallel_size");
        refused(keys, "use --dp and jrun's --nnodes=MIN:MAX", "elasticity.enabled");
        return keys;
    }

    private static void mapped(Map<String, DeepSpeedKey> keys, String... paths) {
        put(keys, Treatment.MAPPED, "", paths);
    }

    private static void ignored(Map<String, DeepSpeedKey> keys, String why, String... paths) {
        put(keys, Treatment.IGNORED, why, paths);
    }

    private static void refused(Map<String, DeepSpeedKey> keys, String instead, String... paths) {
        put(keys, Treatment.REFUSED, instead, paths);
    }

    private static void put(Map<String, DeepSpeedKey> keys, Treatment treatment, String words, String... paths) {
        List.of(paths).forEach(path -> keys.put(path, new DeepSpeedKey(treatment, words)));
    }
}
