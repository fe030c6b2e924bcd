"""What the worker and the local stack read out of a template."""

import textwrap

import pytest

from siftline.worker.template import Evaluator, Reference, Template, TemplateError, load

TEMPLATE = """
Parameters:
  Stage: {Type: String, Default: staging}
  Size: {Type: Number, Default: 5}
  Url: {Type: String, Default: ""}
  Names: {Type: CommaDelimitedList, Default: ""}
  TicksOn: {Type: String, Default: "true"}
Conditions:
  HasNames: !Not [!Equals [!Select [0, !Ref Names], ""]]
  HasUrl: !Not [!Equals [!Ref Url, ""]]
  Production: !Equals [!Ref Stage, prod]
  Both: !And [!Condition HasUrl, !Condition Production]
  Either: !Or [!Condition HasUrl, !Condition Production]
Mappings:
  Threads: {prod: {fetch: 8}, staging: {fetch: 2}, local: {fetch: 2}}
Globals:
  Function: {Timeout: 20, Environment: {Variables: {EVERYWHERE: "yes", OVERRIDDEN: common}}}
  HttpApi: {Auth: {DefaultAuthorizer: Token}}
Resources:
  Main:
    Type: AWS::Serverless::Function
    Properties:
      Handler: functions.main.app.handler
      MemorySize: !If [Production, 1024, 256]
      Environment:
        Variables:
          OVERRIDDEN: own
          QUEUE_URL: !Ref MainQueue
          NAME: !Sub "siftline-${Stage}-${!literal}"
          JOINED: !Join [":", [a, !Ref Stage]]
          THREADS: !FindInMap [Threads, !Ref Stage, fetch]
          NOTHING: !Ref AWS::NoValue
          FLAG: true
          URL: !Sub "https://${Api}.${MainQueue.Arn}"
          SECOND: !Select [1, !Split ["-", "a-b-c"]]
          ONE: !GetAtt MainQueue.Arn
      Events:
        Queue:
          Type: SQS
          Properties:
            Queue: !GetAtt MainQueue.Arn
            BatchSize: !Ref Size
            MaximumBatchingWindowInSeconds: 2
            FunctionResponseTypes: [ReportBatchItemFailures]
            ScalingConfig: {MaximumConcurrency: 3}
        Off: {Type: SQS, Properties: {Queue: !GetAtt MainQueue.Arn, Enabled: false}}
        Tick:
          Type: ScheduleV2
          Properties:
            ScheduleExpression: rate(1 minute)
            State: !If [HasUrl, ENABLED, DISABLED]
            Input: '{"tick": "a"}'
        Old: {Type: Schedule, Properties: {Schedule: "cron(0 3 * * ? *)", Input: '{"tick": "b"}'}}
        Open: {Type: HttpApi, Properties: {Path: /health, Method: get, Auth: {Authorizer: NONE}}}
        Rest: {Type: HttpApi, Properties: {Path: "/v1/{proxy+}", Method: ANY}}
  Authorize: {Type: AWS::Serverless::Function, Properties: {Handler: functions.authorize.app.handler}}
  Api:
    Type: AWS::Serverless::HttpApi
    Properties:
      Auth:
        Authorizers:
          Token: {FunctionArn: !GetAtt Authorize.Arn, Identity: {Headers: [Authorization], ReauthorizeEvery: 60}}
          ByName: {FunctionArn: !Sub "arn:${AWS::Partition}:lambda:x:1:function:${Authorize}"}
          ByAlias: {FunctionArn: !Sub "arn:${AWS::Partition}:lambda:x:1:function:${Authorize}:live"}
  MainQueue:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: !Sub siftline-${Stage}-main-queue
      VisibilityTimeout: 120
      SqsManagedSseEnabled: true
      RedrivePolicy: {deadLetterTargetArn: !GetAtt MainDeadLetterQueue.Arn, maxReceiveCount: 10}
  MainDeadLetterQueue:
    Type: AWS::SQS::Queue
    Properties: {QueueName: !Sub "siftline-${Stage}-main-dlq"}
  OnlyInProduction: {Type: AWS::SQS::Queue, Condition: Production}
"""


@pytest.fixture
def read(tmp_path):
    def read(text=TEMPLATE, **parameters):
        path = tmp_path / "template.yaml"
        path.write_text(textwrap.dedent(text))
        return Template.read(path, parameters)

    return read


def test_a_function_has_the_globals_and_its_own_values_on_top(read):
    main = read().functions["Main"]
    assert (main.name, main.handler, main.timeout_s, main.memory_mb) == ("main", "functions.main.app.handler", 20, 256)
    assert main.environment == {
        "EVERYWHERE": "yes",
        "OVERRIDDEN": "own",
        "NAME": "siftline-staging-${literal}",
        "JOINED": "a:staging",
        "THREADS": "2",
        "FLAG": "true",
        "SECOND": "b",
    }
    assert main.references == {
        "QUEUE_URL": Reference("MainQueue"),
        "ONE": Reference("MainQueue", "Arn"),
        "URL": Reference("https://${Api}.${MainQueue.Arn}"),
    }


def test_parameters_change_names_sizes_and_conditions(read):
    template = read(Stage="prod", Size="9", Url="x")
    assert template.functions["Main"].memory_mb == 1024
    assert template.functions["Main"].environment["THREADS"] == "8"
    assert [source.batch_size for source in template.queue_sources()] == [9]
    assert {queue.logical_id for queue in template.queues()} == {"MainQueue", "MainDeadLetterQueue", "OnlyInProduction"}


def test_queues_come_with_their_dead_letter_queue_first(read):
    dead, main = read(Stage="local").queues()
    assert (dead.name, dead.dead_letter, dead.attributes) == ("siftline-local-main-dlq", None, {})
    assert (main.name, main.dead_letter, main.max_receive_count) == (
        "siftline-local-main-queue",
        "MainDeadLetterQueue",
        10,
    )
    assert main.attributes == {"VisibilityTimeout": "120", "SqsManagedSseEnabled": "true"}


def test_an_event_source_that_is_switched_off_is_left_out(read):
    [source] = read().queue_sources()
    assert (source.queue, source.batch_size) == ("MainQueue", 5)
    assert (source.reports_failures, source.concurrency, source.function.name) == (True, 3, "main")


def test_schedules_of_both_kinds_are_found_and_disabled_ones_left_out(read):
    assert [schedule.name for schedule in read().schedules()] == ["Old"]
    schedules = {schedule.name: schedule for schedule in read(Url="x").schedules()}
    assert (schedules["Tick"].expression, schedules["Tick"].input) == ("rate(1 minute)", '{"tick": "a"}')
    assert (schedules["Old"].expression, schedules["Old"].time_zone) == ("cron(0 3 * * ? *)", "UTC")


def test_routes_have_the_default_authorizer_unless_they_say_none(read):
    template = read()
    assert [(route.method, route.path, route.authorizer) for route in template.routes()] == [
        ("GET", "/health", None),
        ("ANY", "/v1/{proxy+}", "Token"),
    ]
    token = template.authorizers()["Token"]
    assert (token.function.name, token.identity_headers, token.ttl_s) == ("authorize", ("authorization",), 60)
    for name in ("ByName", "ByAlias"):
        assert template.authorizers()[name].function.name == "authorize"


def test_the_variable_that_carries_a_queues_url_is_found_by_its_reference(read):
    template = read()
    assert template.variable_of("MainQueue") == "QUEUE_URL"
    with pytest.raises(TemplateError, match="OnlyInProduction"):
        template.variable_of("OnlyInProduction")


@pytest.mark.parametrize(
    ("condition", "parameters", "holds"),
    [
        ("Both", {"Url": "x", "Stage": "prod"}, True),
        ("Both", {"Url": "x"}, False),
        ("Either", {"Stage": "prod"}, True),
        ("Either", {}, False),
        ("HasNames", {}, False),
        ("HasNames", {"Names": "a,b"}, True),
    ],
)
def test_conditions_combine(tmp_path, condition, parameters, holds):
    path = tmp_path / "template.yaml"
    path.write_text(TEMPLATE)
    assert Evaluator(load(path), parameters).condition(condition) is holds


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: [", "not YAML"),
        ("a: 1", "not a CloudFormation template"),
        (
            "Resources: {F: {Type: AWS::Serverless::Function, Properties: {Handler: !ImportValue x}}}",
            "Fn::ImportValue is not supported",
        ),
        (
            "Resources: {F: {Type: AWS::Serverless::Function, Properties: {Handler: !If [Absent, a, b]}}}",
            "no condition Absent",
        ),
        (
            "Resources: {F: {Type: AWS::Serverless::Function, Properties: {Handler: !FindInMap [M, a, b]}}}",
            "no a.b in the mapping M",
        ),
    ],
)
def test_what_is_not_understood_is_said(read, text, words):
    with pytest.raises(TemplateError, match=words):
        read(text)


def test_a_queue_must_be_a_resource_of_the_template(read):
    text = """
    Resources:
      F:
        Type: AWS::Serverless::Function
        Properties: {Handler: a.b, Events: {E: {Type: SQS, Properties: {Queue: "arn:aws:sqs:x:1:q"}}}}
    """
    with pytest.raises(TemplateError, match="not a reference"):
        read(text).queue_sources()
