"""What Lambda's event source mappings and EventBridge do, as a program: on one machine and on Fargate alike.

``python -m siftline.worker`` reads queues, batch sizes, time-outs, environments and schedules from ``template.yaml``,
long-polls SQS, hands real SQS events to the very handlers Lambda runs, and ticks the schedules.
"""
