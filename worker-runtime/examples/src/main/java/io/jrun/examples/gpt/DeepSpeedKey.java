package io.jrun.examples.gpt;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The keys of DeepSpeed's configuration that this program knows, and the treatment of each key. docs/parallelism.md has
 * the same table. Source of the keys: DeepSpeed's docs/_pages/config-json.md.
 *
 * @param treatment what becomes of the key
 * @param words for {@code IGNORED} why, for {@code REFUSED} why and what to do
 */
record DeepSpeedKey(Treatment treatment, String words) {
    static final String HOST_MEMORY = "the states are in host memory without the key too";

    /** The treatment of a key. */
    enum Treatment {
        /** Becomes options of this program. */
        MAPPED,
        /** Changes nothing here; rank 0 says so. */
        IGNORED,
        /** Ends the program, unless the value has no effect. */
        REFUSED
    }

    /** All keys by their path, with dots between the levels. The path {@code NAME.*} is all keys of an object. */
    private static final Map<String, DeepSpeedKey> ALL = all();

    /** The key of a path; empty if this program does not know the key. */
    static Optional<DeepSpeedKey> of(String path) {
        DeepSpeedKey own = ALL.get(path);
        return Optional.ofNullable(own != null ? own : ALL.get(group(path) + ".*"));
    }

    /** The name of the outermost object of a path. */
    static String group(String path) {
        int dot = path.indexOf('.');
        return dot < 0 ? path : path.substring(0, dot);
    }

    /** The paths that this program knows. */
    static Set<String> paths() {
        return ALL.keySet();
    }

    private static Map<String, DeepSpeedKey> all() {
        Map<String, DeepSpeedKey> keys = new LinkedHashMap<>();
        addMapped(keys);
        addIgnored(keys);
        addRefused(keys);
        return keys;
    }

    private static void addMapped(Map<String, DeepSpeedKey> keys) {
        mapped(
                keys,
                "train_batch_size",
                "train_micro_batch_size_per_gpu",
                "gradient_accumulation_steps",
                "gradient_clipping",
                "steps_per_print",
                "bf16.enabled",
                "bfloat16.enabled",
                "fp16.enabled",
                "optimizer.type",
                "optimizer.params.lr",
                "optimizer.params.betas",
                "optimizer.params.eps",
                "optimizer.params.weight_decay",
                "optimizer.params.momentum",
                "optimizer.params.adam_w_mode",
                "optimizer.params.bias_correction",
                "optimizer.params.max_grad_norm",
                "scheduler.*",
                "zero_optimization.stage",
                "zero_optimization.offload_param.device",
                "zero_optimization.offload_param.nvme_path",
                "zero_optimization.offload_optimizer.device",
                "zero_optimization.zero_hpz_partition_size",
                "zero_optimization.mics_shard_size",
                "tensor_parallel.autotp_size",
                "sequence_parallel_size");
    }

    private static void addIgnored(Map<String, DeepSpeedKey> keys) {
        ignored(
                keys,
                "the states of the optimizer lie beside the parameters",
                "zero_optimization.offload_optimizer.nvme_path");
        ignored(
                keys,
                HOST_MEMORY,
                "zero_optimization.offload_optimizer.pin_memory",
                "zero_optimization.offload_optimizer.ratio",
                "zero_optimization.offload_param.pin_memory",
                "zero_optimization.offload_param.max_in_cpu",
                "zero_optimization.cpu_offload",
                "zero_optimization.cpu_offload_params",
                "zero_optimization.cpu_offload_use_pin_memory",
                "zero_force_ds_cpu_optimizer");
        ignored(
                keys,
                "files are read one unit ahead",
                "zero_optimization.offload_optimizer.buffer_count",
                "zero_optimization.offload_optimizer.fast_init",
                "zero_optimization.offload_optimizer.pipeline_read",
                "zero_optimization.offload_optimizer.pipeline_write",
                "zero_optimization.offload_param.buffer_count",
                "zero_optimization.offload_param.buffer_size",
                "aio.*");
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
                "zero_optimization.round_robin_gradients",
                "zero_optimization.use_multi_rank_bucket_allreduce",
                "zero_optimization.stage3_use_all_reduce_for_fetch_params",
                "zero_optimization.mics_hierarchical_params_gather",
                "zero_optimization.ignore_unused_parameters",
                "zero_optimization.memory_efficient_linear",
                "dataloader_drop_last");
        ignored(
                keys,
                "each block is a unit, and one unit is gathered ahead",
                "zero_optimization.sub_group_size",
                "zero_optimization.stage3_prefetch_bucket_size",
                "zero_optimization.stage3_param_persistence_threshold",
                "zero_optimization.stage3_max_live_parameters",
                "zero_optimization.stage3_max_reuse_distance",
                "zero_optimization.stage3_module_granularity_threshold",
                "zero_optimization.prefetch_bucket_size",
                "zero_optimization.param_persistence_threshold",
                "zero_optimization.max_live_parameters",
                "zero_optimization.max_reuse_distance");
        ignored(
                keys,
                "checkpoints have one form",
                "zero_optimization.stage3_gather_16bit_weights_on_model_save",
                "zero_optimization.stage3_gather_fp16_weights_on_model_save",
                "zero_optimization.gather_16bit_weights_on_model_save",
                "zero_optimization.elastic_checkpoint",
                "zero_optimization.load_from_fp32_weights",
                "checkpoint.*");
        ignored(keys, "this program checks the optimizer by itself", "zero_allow_untested_optimizer");
        ignored(
                keys,
                "jrun always measures the phases of a step",
                "wall_clock_breakdown",
                "memory_breakdown",
                "dump_state");
        ignored(
                keys,
                "jrun reports metrics by itself; --tensorboard=DIR writes event files",
                "tensorboard.*",
                "wandb.*",
                "csv_monitor.*",
                "comet.*",
                "comms_logger.*",
                "comms_config.*",
                "monitor_config.*",
                "flops_profiler.*",
                "autotuning.*");
        ignored(keys, "the weights are in float32, and the loss scale of f16 changes as torch's", "fp16.*", "bf16.*");
        ignored(keys, "--recompute=N chooses the blocks that are recomputed", "activation_checkpointing.*");
        ignored(
                keys,
                "fused kernels are chosen with optimizer.type",
                "optimizer.params.torch_adam",
                "optimizer.params.fused",
                "optimizer.legacy_fusion");
    }

    private static void addRefused(Map<String, DeepSpeedKey> keys) {
        refused(
                keys,
                "gradients are divided once, in their own type",
                "prescale_gradients",
                "gradient_predivide_factor",
                "communication_data_type",
                "seq_parallel_communication_data_type",
                "data_types.grad_accum_dtype",
                "fp32_allreduce",
                "sparse_gradients",
                "disable_allgather",
                "zero_optimization.zero_quantized_weights",
                "zero_optimization.zero_quantized_nontrainable_weights",
                "zero_optimization.zero_quantized_gradients");
        refused(keys, "use bf16 or fp16", "amp.*");
        refused(keys, "use --dp and jrun's --nnodes=MIN:MAX", "elasticity.*");
        refused(keys, "give --pp=N on the command line", "pipeline.*");
        refused(
                keys,
                "this program has no such training",
                "curriculum_learning.*",
                "data_efficiency.*",
                "compression_training.*",
                "sparse_attention.*",
                "progressive_layer_drop.*",
                "eigenvalue.*",
                "quantize_training.*",
                "hybrid_engine.*");
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
